#include "bench/processes/scratch_folder.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"

namespace ferry::bench {

ScratchFolder::ScratchFolder() : path_((std::filesystem::temp_directory_path() / "ferry-bench-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) throw Error(Code::resource, "no folder for temporary files: " + path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace ferry::bench

#include "runner/files/written_files.hpp"

#include <map>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

std::string shown(const GivenFile& file) {
  return (file.option.empty() ? "" : file.option + " ") + escaped(file.path);
}

}  // namespace

void check_written_file(std::string_view option, const std::string& file) {
  const std::string given = std::string(option) + " " + in_quotes(file);
  const std::size_t slash = file.rfind('/');
  if (slash != std::string::npos && !local_files().is_folder(file.substr(0, slash + 1)))
    throw Error(Code::file, given + ": its folder is not there").hint("make it first, on the host of task 0");
  if (local_files().is_folder(file)) throw Error(Code::file, given + ": this is a folder").hint("give a file in it");
}

void require_apart(const std::vector<GivenFile>& read, const std::vector<GivenFile>& written) {
  std::map<std::string, const GivenFile*> known;
  for (const GivenFile& file : read)
    if (std::string identity = file_identity(file.path); !identity.empty()) known.try_emplace(identity, &file);
  for (const GivenFile& file : written) {
    const std::string identity = file_identity(file.path);
    if (identity.empty()) continue;
    const auto [other, fresh] = known.try_emplace(identity, &file);
    if (!fresh)
      throw Error(Code::usage,
                  shown(file) + ": the same file as " + shown(*other->second) + ", which it would overwrite")
          .hint("another file for " + file.option);
  }
}

}  // namespace ferry

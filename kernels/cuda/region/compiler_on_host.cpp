// Compiles generated kernels by the C++ compiler, for tests, with the headers that are embedded in the plug-in.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "kernels/cuda/on_host.hpp"
#include "kernels/cuda/region/compiler.hpp"
#include "kernels/cuda/region/embedded.hpp"
#include "kernels/cuda/region/region.hpp"
#include "kernels/cuda/region/source.hpp"
#include "kernels/cuda_on_host.hpp"

namespace ferry::cuda {
namespace {

constexpr const char* kCommand = FERRY_HOST_COMPILER " -x c++ -std=c++20 -O1 -ffp-contract=off -fPIC -shared -w ";

std::string unavailable;
std::atomic<int> compiled = 0;

/// A new temporary folder. The destructor removes it.
struct ScratchFolder {
  ScratchFolder() {
    const char* const temporary = std::getenv("TMPDIR");
    path = std::string(temporary != nullptr ? temporary : "/tmp") + "/ferry-region-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw Error(Code::resource, "cannot make a folder like " + path);
  }
  ~ScratchFolder() {
    try {
      local_files().remove(path);
    } catch (const Error&) {  // the folder stays
    }
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  void write(const std::string& name, std::string_view text) const {
    local_files().make_folders(path + "/" + name.substr(0, name.rfind('/') + 1));
    local_files().append(path + "/" + name, text);  // unlike write(), it does not wait for the disk
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return std::string(local_files().read(path + "/" + name).text());
  }
  std::string path;
};

class CodeOnHost final : public RegionCode {
 public:
  explicit CodeOnHost(const std::string& code) {
    const ScratchFolder folder;
    folder.write("region.so", code);
    library_ = dlopen((folder.path + "/region.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr)
      throw Error(Code::resource, std::string("a generated kernel cannot be loaded: ") + dlerror());
    region_ = reinterpret_cast<Function>(dlsym(library_, "ferry_region"));
    FERRY_ASSERT(region_ != nullptr, "a generated kernel without its function");
  }
  ~CodeOnHost() override { dlclose(library_); }
  CodeOnHost(const CodeOnHost&) = delete;
  CodeOnHost& operator=(const CodeOnHost&) = delete;

  void launch(const KernelRun& run, std::int64_t groups, std::span<const std::int64_t> arguments) const override {
    detail::launch(run, [region = region_, groups, kept = std::vector(arguments.begin(), arguments.end())] {
      detail::in_order(groups, [&](std::int64_t group) { region(kept.data(), group); });
    });
  }

 private:
  using Function = void (*)(const void* arguments, std::int64_t group);
  void* library_ = nullptr;
  Function region_ = nullptr;
};

}  // namespace

void offer_compiler(bool is_there) {
  unavailable = is_there ? "" : "none is offered";
}

int compiled_regions() {
  return compiled;
}

std::vector<BoundKernel> fuse_on_host(std::span<const FusedKernels> all, const std::string& cache_folder,
                                      FileSystem& files) {
  CodeCache cache(cache_folder, files);
  return fused(all, 90, 2, cache);
}

std::string text_of_region(const FusedKernels& kernels) {
  return source_of(kernels).text;
}

std::string why_no_compiler() {
  return unavailable;
}

std::string compiler_facts(int architecture) {
  std::string facts = kCommand + std::to_string(architecture);
  for (const EmbeddedHeader& header : embedded_headers()) facts.append("\n").append(header.text);
  return facts;
}

CompiledRegion compile_region(const std::string& text, int) {
  ++compiled;
  const ScratchFolder folder;
  for (const EmbeddedHeader& header : embedded_headers())
    if (std::string_view(header.name).find('/') != std::string_view::npos) folder.write(header.name, header.text);
  folder.write("region.cpp", text);
  const std::string command = kCommand + ("-I" + folder.path + " " + folder.path + "/region.cpp -o " + folder.path +
                                          "/region.so >" + folder.path + "/log 2>&1");
  if (std::system(command.c_str()) != 0)  // NOLINT(cert-env33-c): of tests alone
    throw Error(Code::bug, "the compiler refuses a generated kernel").note(folder.read("log")).note(text);
  return {folder.read("region.so"), {}, folder.read("log")};
}

std::shared_ptr<const RegionCode> load_region(const std::string& code) {
  return std::make_shared<CodeOnHost>(code);
}

}  // namespace ferry::cuda

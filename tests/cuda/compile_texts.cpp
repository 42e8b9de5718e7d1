// compile_texts FILE.cu…: compiles generated kernels with NVRTC for compute capability 9.0, without a GPU. Prints of
// each what ptxas says, and how often it reads and writes 16 bytes of memory at once. Where there is no NVRTC it says
// why, and ends with 77.
#include <cstdio>
#include <regex>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "kernels/cuda_compiler.hpp"

namespace {

using namespace ferry;

constexpr int kSkipped = 77, kArchitecture = 90;

std::ptrdiff_t count(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator());
}

int run(std::span<char* const> paths) {
  if (const std::string why = cuda::why_no_compiler(); !why.empty()) {
    std::printf("%s\n", why.c_str());
    return kSkipped;
  }
  for (const char* const path : paths) {
    const std::string text(local_files().read(path).text());
    const cuda::CompiledRegion made = cuda::compile_region(text, kArchitecture);
    std::printf("== %s: %td reads, %td writes of 16 bytes\n%s\n", path,
                count(made.intermediate, R"(ld\.global(\.nc)?\.(v4\.\w32|v2\.\w64))"),
                count(made.intermediate, R"(st\.global\.(v4\.\w32|v2\.\w64))"), made.log.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// The cache of generated kernels, on the host: a bad one costs time, never the run.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/cuda_on_host.hpp"
#include "tests/cuda/cuda_kernels.hpp"
#include "tests/support/faulty_files.hpp"
#include "tests/support/log_text.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry::test {
namespace {

namespace fs = std::filesystem;

/// -x + x, or -x * x: two texts.
FusedKernels region(std::string_view last, std::int64_t elements = 3) {
  const Type type{DType::float32, {elements}};
  return {.values = {type, type, type},
          .inputs = 1,
          .outputs = 1,
          .members = {{cuda_kernels().find("Neg"), {0}, 2}, {cuda_kernels().find(last), {2, 0}, 1}}};
}

/// The results of the regions for the input 1, 2, 3, and the number of texts that were compiled for them.
struct Made {
  std::vector<float> last;  ///< the last element of each result
  int compiled = 0;
};
Made made(const std::vector<FusedKernels>& regions, const std::string& folder, FileSystem& files = local_files()) {
  const int before = cuda::compiled_regions();
  const std::vector<BoundKernel> kernels = cuda::fuse_on_host(regions, folder, files);
  Made result{{}, cuda::compiled_regions() - before};
  for (const BoundKernel& kernel : kernels) {
    std::vector<float> x{1, 2, 3}, y(3, 0);
    std::vector<std::int64_t> sizes{3}, begin{0};
    const std::array inputs{Array{reinterpret_cast<std::byte*>(x.data()), DType::float32, sizes, sizes, begin}};
    std::array outputs{Array{reinterpret_cast<std::byte*>(y.data()), DType::float32, sizes, sizes, begin}};
    ThisThread parallel;
    const std::int64_t step = 0;
    KernelRun run{.inputs = inputs,
                  .outputs = outputs,
                  .state = kernel.state.get(),
                  .scratch = {},
                  .parallel = parallel,
                  .step = step,
                  .iterations = {}};
    kernel.run(run);
    result.last.push_back(y[2]);
  }
  return result;
}

const std::vector<float> kWanted{0, -9, 0};

std::vector<FusedKernels> three_regions() {
  return {region("Add"), region("Mul"), region("Add")};
}

/// Whether regions are right, and `compiled` regions were compiled.
void check(const std::string& folder, int compiled, FileSystem& files = local_files()) {
  const Made result = made(three_regions(), folder, files);
  CHECK(result.last == kWanted);
  CHECK(result.compiled == compiled);
}

std::vector<fs::path> files_in(const std::string& folder) {
  return {fs::directory_iterator(folder), fs::directory_iterator()};
}

}  // namespace

TEST_CASE("each text is compiled once, and then found in the cache") {
  const TempFolder folder;
  check(folder / "kernels", 2);
  check(folder / "kernels", 0);
  CHECK(files_in(folder / "kernels").size() == 2);
}

TEST_CASE("regions that differ in sizes alone share a text") {
  const TempFolder folder;
  CHECK(made({region("Add"), region("Add", 3)}, folder.path()).compiled == 1);
  FusedKernels larger = region("Add", 1000);
  larger.values[0].shape = {1, 1000};
  CHECK(cuda::fuse_on_host(std::vector{larger}, folder.path(), local_files()).size() == 1);
  CHECK(files_in(folder.path()).size() == 1);
}

TEST_CASE("a damaged cache is made anew") {
  const TempFolder folder;
  check(folder.path(), 2);
  for (const fs::path& path : files_in(folder.path())) {
    const auto bytes = static_cast<std::streamoff>(fs::file_size(path));
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(bytes / 2);
    file.put('\x5a');
    file.put('\xa5');
  }
  check(folder.path(), 2);
  check(folder.path(), 0);
  for (const fs::path& path : files_in(folder.path())) fs::resize_file(path, 5);
  check(folder.path(), 2);
  for (const fs::path& path : files_in(folder.path())) fs::resize_file(path, 0);
  check(folder.path(), 2);
  check(folder.path(), 0);
}

TEST_CASE("a cache that cannot be written or read is warned of once") {
  const TempFolder folder;
  std::ofstream(folder / "file") << "no folder";
  for (const std::string& place : {folder / "file", folder / "file/kernels"}) {
    LogText log;
    check(place, 2);
    CAPTURE(log.text);
    const std::string said = "the cache of generated kernels cannot be";
    CHECK(log.text.find(said) != std::string::npos);
    CHECK(log.text.find(said) == log.text.rfind(said));
  }
}

TEST_CASE("a full disk costs the cache alone") {
  for (int at = 0; at < 4; ++at) {
    CAPTURE(at);
    const TempFolder folder;
    FaultyFiles files(at, FaultyFiles::Fault::full);
    LogText log;
    check(folder / "kernels", 2, files);
    CHECK(log.text.find("the cache of generated kernels cannot be written") != std::string::npos);
  }
}

TEST_CASE("without a folder nothing is kept") {
  check("", 2);
  check("", 2);
}

TEST_CASE("a cache does not grow without end") {
  const TempFolder folder;
  for (int i = 0; i < 2'000; ++i) std::ofstream(folder / std::to_string(i)) << i;
  check(folder.path(), 2);
  CHECK(files_in(folder.path()).size() == 1'002);
  check(folder.path(), 0);
}

}  // namespace ferry::test

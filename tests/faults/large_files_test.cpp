// Files of gigabytes, without data, that are not what they are given as: nothing but their heads is read.
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>

#include "base/files/npy.hpp"
#include "base/files/safetensors.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/op_set.hpp"
#include "placement/plan/plan_file.hpp"
#include "tests/placement/plans.hpp"
#include "tests/support/faulty_files.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{10} << 30;

/// Files of which nobody reads the whole.
class Heads final : public test::FaultyFiles {
 public:
  Heads() : FaultyFiles(std::numeric_limits<int>::max(), Fault::full) {}
  FileBytes read(const std::string& path, std::uint64_t) override {
    throw Error(Code::bug, path + ": all of it is read");
  }
};

/// A file that begins so, and goes on with a hole.
std::string huge(const test::TempFolder& folder, const std::string& name, std::string_view begin) {
  const std::string path = folder / name;
  local_files().write(path, begin);
  std::filesystem::resize_file(path, kHuge);
  return path;
}

TEST_CASE("007 of huge files that are not what they are given as only the heads are read") {
  const test::TempFolder folder;
  Heads files;
  const auto refused = [](const auto& read) {
    const Error error = test::error_of(read);
    CHECK_MESSAGE(error.code() == Code::file, error.text());
    return error.text();
  };
  for (const std::string_view begin : {std::string_view(), std::string_view("FERRYPLN\1\0\0\0", 12)}) {
    const std::string path = huge(folder, "x.plan", begin);
    static_cast<void>(refused([&] { static_cast<void>(read_plan(files, path)); }));
  }
  const std::vector<std::byte> plan = encode_plan(test::every_field());
  const std::string longer = huge(folder, "y.plan", {reinterpret_cast<const char*>(plan.data()), plan.size()});
  CHECK(refused([&] { static_cast<void>(read_plan(files, longer)); }).find("bytes follow the end") !=
        std::string::npos);
  const std::string zeros = huge(folder, "x", "");
  static_cast<void>(refused([&] { static_cast<void>(read_npy(files, zeros)); }));
  static_cast<void>(refused([&] { static_cast<void>(read_safetensors(files, zeros)); }));
  const std::string graph = huge(folder, "x.pb", "");
  CHECK(test::error_of([&] { static_cast<void>(load_graph(graph, default_ops(), files)); })
            .text()
            .find("not a ferry graph") != std::string::npos);
}

}  // namespace
}  // namespace ferry

// Sparse files of gigabytes that are not of the format they are given as: only their heads are read.
#include <doctest/doctest.h>

#include <filesystem>
#include <initializer_list>
#include <limits>
#include <string>

#include "base/files/npy.hpp"
#include "base/files/safetensors.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/onnx/model.hpp"
#include "ops/op_set.hpp"
#include "plan/file/plan_file.hpp"
#include "tests/plan/plans.hpp"
#include "tests/support/faulty_files.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{10} << 30;

/// A file system in which it is an error to read a whole file.
class Heads final : public test::FaultyFiles {
 public:
  Heads() : FaultyFiles(std::numeric_limits<int>::max(), Fault::full) {}
  FileBytes read(const std::string& path, std::uint64_t) override {
    throw Error(Code::bug, path + ": all of it is read");
  }
};

/// A file that begins with `begin` and continues with a hole.
std::string huge(const test::TempFolder& folder, const std::string& name, std::string_view begin,
                 std::uint64_t size = kHuge) {
  const std::string path = folder / name;
  local_files().write(path, begin);
  std::filesystem::resize_file(path, size);
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

TEST_CASE("007 of huge models and graphs as text the heads of fields and the first lines are read") {
  const test::TempFolder folder;
  Heads files;
  const auto message = [&](const std::string& name, std::string_view begin, std::uint64_t size) {
    const std::string path = huge(folder, name, begin, size);
    const Error error = test::error_of([&] {
      if (name.ends_with(".onnx"))
        static_cast<void>(onnx::read_model(path, files));
      else
        static_cast<void>(load_graph(path, default_ops(), files));
    });
    CHECK_MESSAGE(error.code() == Code::file, error.text());
    CHECK(test::says(error, name));
    return error.text();
  };
  const auto text = [](std::initializer_list<int> bytes) { return std::string(bytes.begin(), bytes.end()); };
  constexpr std::uint64_t kBelowLimit = 0x7f000000;
  for (const std::uint64_t size : {kBelowLimit, kHuge}) {
    for (const std::string& begin :
         {std::string(), text({0x08, 8}), text({0x08, 8, 0x3a, 2, 0x0a, 0}),         // zeros, behind a field or a graph
          text({0x08, 8, 0x3a, 0xff, 0xff, 0xff, 0x07, 0x12, 1, 'g'}),               // in a graph
          text({0x08, 8, 0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}), text({0x0b})})  // a graph too long, a group
      CHECK(message("x.onnx", begin, size).find("it is no ONNX file: damaged or cut short") != std::string::npos);
    CHECK(message("y.pb",
                  "\x09"
                  "FERRYGR1\x11"
                  "12345678\x18\x01",
                  size)
              .find("it is no protobuf message") != std::string::npos);
  }
  CHECK(message("x.pbtxt", "", kBelowLimit).find("byte 0 is 0") != std::string::npos);
  CHECK(message("y.pbtxt", "version: 1\n", kBelowLimit).find("byte 11 is 0") != std::string::npos);
  std::string log;
  while (log.size() < (std::size_t{17} << 20)) log += "what a program said\n";
  CHECK(message("z.pbtxt", log, log.size()).find("it is no graph as text: line 1, column") != std::string::npos);
}

TEST_CASE("007 large models and graphs as text that are sound are read") {
  const test::TempFolder folder;
  std::string comments;
  while (comments.size() < (std::size_t{17} << 20)) comments += "# nothing but remarks, of which there are many\n";
  local_files().write(folder / "x.pbtxt", comments + "version: 1 graph {}\n");
  CHECK(load_graph(folder / "x.pbtxt", default_ops())->size() == 0);
  const std::size_t size = std::size_t{17} << 20;
  std::string model = "\x08\x08\x32";  // doc_string
  for (std::size_t rest = size; rest > 0; rest >>= 7U)
    model.push_back(static_cast<char>((rest & 0x7fU) | (rest >> 7U == 0 ? 0U : 0x80U)));
  local_files().write(folder / "x.onnx", model + std::string(size, 'd'));
  CHECK(test::error_of([&] { static_cast<void>(onnx::read_model(folder / "x.onnx")); })
            .text()
            .find("damaged or cut short") == std::string::npos);
}

}  // namespace
}  // namespace ferry

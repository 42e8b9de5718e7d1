// Tests which folders are conformance cases; the command itself is tested in tests/onnx.
#include "runner/command/conformance.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/files/files.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

using namespace ferry;
using namespace ferry::test;

TEST_CASE("a folder is a case, or holds cases") {
  const TempFolder top;
  for (const char* name : {"/b", "/a", "/none"}) std::filesystem::create_directories(top.path() + name);
  for (const char* name : {"/b", "/a"}) local_files().write(top.path() + name + "/model.onnx", std::string_view("x"));
  CHECK(conformance_folders(std::vector<std::string>{top.path()}) ==
        std::vector<std::string>{top.path() + "/a", top.path() + "/b"});
  CHECK(conformance_folders(std::vector<std::string>{top / "b"}) == std::vector<std::string>{top / "b"});
  const Error error = error_of([&] { static_cast<void>(conformance_folders(std::vector<std::string>{top / "none"})); });
  CHECK(error.code() == Code::usage);
  CHECK(says(error, "neither it nor a folder in it has a model.onnx"));
}

#include "base/files/shared_file.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <vector>

#include "base/error.hpp"
#include "tests/support/has.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry::test {
namespace {

std::string error_of(const std::string& folder, const std::string& name) {
  try {
    static_cast<void>(shared_text(folder, name, 9));
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    return error.text();
  }
  return "none";
}

TEST_CASE("a shared file is read as far as the limit") {
  const TempFolder folder;
  CHECK(!shared_text(folder.path(), "a", 4));
  std::ofstream(folder / "a").flush();
  CHECK(!shared_text(folder.path(), "a", 4));
  std::ofstream(folder / "a") << "abc";
  CHECK(shared_text(folder.path(), "a", 4) == "abc");
  std::ofstream(folder / "a") << "abcde";
  CHECK(shared_text(folder.path(), "a", 4) == "abcd");
}

TEST_CASE("a shared file is made by one of those that try at once") {
  const TempFolder folder;
  std::vector<std::future<bool>> tries;
  for (const char* text : {"first", "second", "third", "fourth"})
    tries.push_back(std::async(std::launch::async, make_shared_text, folder / "a", text));
  CHECK(std::ranges::count_if(tries, [](std::future<bool>& made) { return made.get(); }) == 1);
  CHECK(!make_shared_text(folder / "a", "fifth"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK(has("first second third fourth", *shared_text(folder.path(), "a", 9)));
}

TEST_CASE("what is no file in a folder") {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "folder");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(error_of(folder.path(), "folder") == "\"folder\": is no regular file");
  CHECK(error_of(folder.path(), "pipe") == "\"pipe\": is no regular file");
  CHECK(has(error_of(folder / "no", "a"), "/no\": the folder cannot be opened: No such file or directory"));
}

}  // namespace
}  // namespace ferry::test

#include "runner/launch/last_words.hpp"

#include <doctest/doctest.h>

namespace ferry {
namespace {

TEST_CASE("a task's own error comes first") {
  LastWords words;
  words.take(0, "error: from another task\n");
  words.take(1, "warning: slow\nerror: no ro");
  words.take(1, "om\n  try: less\n");
  CHECK(words.of(1, true) == ": no room");
  CHECK(words.of(0, false) == ": from another task");
}

TEST_CASE("a task that says no error: the first of the others, or its last line") {
  LastWords words;
  words.take(2, "Traceback:\n  here\nValueError: 7\n\n");
  CHECK(words.of(2, true) == "; its last line: ValueError: 7");
  words.take(1, "error: first\n");
  words.take(0, "error: second\n");
  CHECK(words.of(2, true) == "; task 1 says: first");
  CHECK(words.of(2, false) == "; its last line: ValueError: 7");
  CHECK(words.of(3, false).empty());
}

TEST_CASE("last words are one line, of a size for it") {
  LastWords words;
  words.take(0, "error: not ended");
  CHECK(words.of(0, false) == ": not ended");
  words.take(1, "error: a\x1b[2Jb\tc\n");
  CHECK(words.of(1, false) == ": a\\x1b[2Jb\\tc");
  for (int i = 0; i < 100; ++i) words.take(2, "a long text without an end, ");
  CHECK(words.of(2, false).size() < 500);
}

}  // namespace
}  // namespace ferry

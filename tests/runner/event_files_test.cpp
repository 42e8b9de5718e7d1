#include "runner/files/event_files.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "tests/support/faulty_files.hpp"
#include "tests/support/log_text.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

/// The one file of an entry.
std::string file_of(const std::string& folder, const std::string& entry) {
  const std::vector<std::string> names = local_files().list(folder + "/" + entry);
  REQUIRE(names.size() == 1);
  CHECK(names[0].starts_with("events.out.tfevents."));
  const FileBytes bytes = local_files().read(folder + "/" + entry + "/" + names[0]);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("a record has its length, its data and the checksums of both") {
  // CRC-32C of "123456789" is 0xe3069283 (RFC 3720); masked as TensorFlow does it, 0xc78ab0e5.
  CHECK(hex(tf_record("123456789")) == "090000000000000037f97139313233343536373839e5b08ac7");
  CHECK(tf_record("").size() == 16);
}

TEST_CASE("each entry is a run of TensorBoard's, each scalar a tag") {
  const test::TempFolder folder;
  test::ManualClock clock;
  {
    EventFiles files(folder / "board", 0, local_files(), clock);
    CHECK(local_files().list(folder / "board").empty());
    files.add(1, "train", {{"loss", 0.5}, {"accuracy", 1}});
    files.add(1, "eval", {{"loss", 0.25}});
  }
  const std::string train = file_of(folder / "board", "train"), eval = file_of(folder / "board", "eval");
  CHECK(train.find("brain.Event:2") != std::string::npos);
  CHECK(train.find("accuracy") != std::string::npos);
  CHECK(eval.find("loss") != std::string::npos);
  CHECK(eval.find("accuracy") == std::string::npos);
}

TEST_CASE("no entry's name leads out of the folder") {
  const test::TempFolder folder;
  test::ManualClock clock;
  {
    EventFiles files(folder / "board", 0, local_files(), clock);
    files.add(1, "../../etc/passwd", {{"loss", 0.5}});
  }
  CHECK(file_of(folder / "board", "_._.._etc_passwd").find("loss") != std::string::npos);
  CHECK(local_files().list(folder / ".") == std::vector<std::string>{"board"});
}

TEST_CASE("a full disk costs the scalars, not the run, and is told once") {
  enum Change { kFolder, kFolderOfEntry, kFirstBytes, kMoreBytes };
  for (const Change change : {kFolderOfEntry, kFirstBytes, kMoreBytes}) {
    const test::TempFolder folder;
    test::ManualClock clock;
    test::FaultyFiles full(change, test::FaultyFiles::Fault::full);
    const test::LogText log;
    {
      EventFiles files(folder / "board", 0, full, clock);
      for (std::int64_t step = 1; step <= 3; ++step) {
        clock.advance(std::chrono::seconds(1));
        files.add(step, "train", {{"loss", 0.5}});
      }
    }
    CHECK(log.text.find("No space left on device") != std::string::npos);
    CHECK(log.text.find("--tensorboard: the run continues") != std::string::npos);
    CHECK(log.text.find("--tensorboard") == log.text.rfind("--tensorboard"));
  }
}

}  // namespace
}  // namespace ferry

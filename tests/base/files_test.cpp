#include "base/files/files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "base/files/folder_lock.hpp"
#include "base/files/open_file.hpp"
#include "base/files/write_progress.hpp"
#include "base/process/process_state.hpp"
#include "base/system/interrupt.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace {
std::atomic<int> syncs_until_failure{-1};
std::function<void(const char*)> after_next_rename;  // with the old name
std::atomic<int> locks_missing{0};                   // 1: flock() is missing; 2: locks of byte ranges are missing, too
}  // namespace

// These two simulate a file system without locks.
extern "C" int flock(int descriptor, int operation) {
  if (locks_missing == 0) return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
  errno = ENOSYS;
  return -1;
}

extern "C" int fcntl(int descriptor, int command, ...) {
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  if (command != F_OFD_SETLK || locks_missing < 2)
    return static_cast<int>(::syscall(SYS_fcntl, descriptor, command, argument));
  errno = EINVAL;
  return -1;
}

// Replaces the C library's fsync(), to simulate a disk that fails.
extern "C" int fsync(int descriptor) {
  if (syncs_until_failure >= 0 && syncs_until_failure-- == 0) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

// Replaces the C library's rename(), to do what another process might do as soon as it sees the new name.
extern "C" int rename(const char* from, const char* to) noexcept {
  const int result = ::renameat(AT_FDCWD, from, AT_FDCWD, to);
  if (const auto then = std::exchange(after_next_rename, nullptr)) then(from);
  return result;
}

namespace ferry {
namespace {

using test::error_of;
using test::TempFolder;

std::string content(const std::string& path) {
  return std::string(local_files().read(path).text());
}

void put(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST_SUITE_BEGIN("base/files");

TEST_CASE("a file is known by all of its paths, also when it is still to be made") {
  const test::TempFolder folder;
  local_files().write(folder / "one", "1");
  std::filesystem::create_symlink("one", folder / "soft");
  std::filesystem::create_hard_link(folder / "one", folder / "hard");
  std::filesystem::create_symlink("none", folder / "dangling");
  const std::string one = file_identity(folder / "one");
  CHECK_FALSE(one.empty());
  for (const char* same : {"soft", "hard", "./one"}) CHECK(file_identity(folder / same) == one);
  const std::string none = file_identity(folder / "none");
  CHECK_FALSE(none.empty());
  CHECK(none != one);
  CHECK(file_identity(folder / "dangling") == none);
  CHECK(file_identity(folder / "other") != none);
  for (const std::string& unknown : {std::string(), std::string("/dev/null"), folder.path(), folder / "no/one"})
    CHECK(file_identity(unknown).empty());
}

TEST_CASE("files: what is written is read back") {
  const TempFolder folder;
  const std::string path = folder / "a";
  for (const std::string text : {"", "x", "hello\nworld"}) {
    local_files().write(path, text);
    CHECK(content(path) == text);
  }
  const std::string large(3'000'000, 'z');
  local_files().write(path, large);
  CHECK(content(path) == large);
  CHECK(local_files().list(folder.path()) == std::vector<std::string>{"a"});
}

TEST_CASE("files: pieces are joined") {
  const TempFolder folder;
  const std::string one = "one", two = "two";
  const std::vector<std::span<const std::byte>> pieces = {
      std::as_bytes(std::span(one)), {}, std::as_bytes(std::span(two))};
  local_files().write(folder / "a", pieces);
  CHECK(content(folder / "a") == "onetwo");
}

TEST_CASE("files: content is aligned for every dtype and can be moved") {
  FileBytes bytes(100);
  CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64 == 0);
  const std::byte* before = bytes.data();
  FileBytes moved = std::move(bytes);
  CHECK(moved.data() == before);
  CHECK(moved.size() == 100);
  CHECK(bytes.size() == 0);  // NOLINT(bugprone-use-after-move)
  FileBytes grown(std::string_view("abc"));
  grown.resize(1000);
  CHECK(grown.text().substr(0, 3) == "abc");
  grown.resize(2);
  CHECK(grown.text() == "ab");
}

TEST_CASE("files: memory that is not there is a resource error with the size") {
  const Error error = error_of([] { FileBytes bytes(1ull << 62); });
  CHECK(error.code() == Code::resource);
  CHECK(error.text().find("4611686018427387904 bytes") != std::string::npos);
}

TEST_CASE("files: only regular files are read (FAULTS 33)") {
  const TempFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder / "socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);

  const auto refused = [](const std::string& path, std::string_view why) {
    const Error error = error_of([&] { (void)local_files().read(path); });
    CHECK(error.code() == Code::file);
    CHECK(error.text().find(why) != std::string::npos);
    CHECK(error.text().find(path.substr(path.find_last_of('/') + 1)) != std::string::npos);
  };
  refused(fifo, "a FIFO");
  refused(folder.path(), "a folder");
  refused("/dev/null", "a device");
  refused(folder / "socket", "socket");
  refused(folder / "missing", "No such file");
  refused((folder / "missing").append("/deeper"), "No such file");
}

TEST_CASE("files: the error for a file that does not exist names a similar one in its folder") {
  const test::TempFolder folder;
  local_files().write(folder / "model.pb", "x");
  const auto error = [&](const std::string& path) {
    return test::error_of([&] { static_cast<void>(local_files().read(path)); }).text();
  };
  CHECK(error(folder / "modle.pb").ends_with("No such file or directory\n  try: " + (folder / "model.pb") + "?"));
  CHECK(error(folder / "other.txt").ends_with("No such file or directory"));
  CHECK(error(folder / "none/model.pb").ends_with("No such file or directory"));
}

TEST_CASE("files: a FIFO without a reader does not hold up a run that is asked to end") {
  const TempFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  request_interrupt(SIGTERM);
  CHECK(error_of([&] { local_files().write(fifo, "x"); }).code() == Code::interrupted);
  CHECK(error_of([&] { local_files().append(fifo, "x"); }).code() == Code::interrupted);
  clear_interrupt();
  request_preemption();
  const Error unread = error_of([&] { local_files().append(fifo, "x"); });
  clear_interrupt();
  CHECK(unread.code() == Code::usage);
  CHECK(unread.text().find("start the program that reads this FIFO first") != std::string::npos);
  const Descriptor reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
  local_files().write(fifo, "first ");
  local_files().append(fifo, "second");
  std::array<char, 20> read{};
  CHECK(::read(reader.get(), read.data(), read.size()) == 12);
  CHECK(std::string(read.data()) == "first second");
}

TEST_CASE("files: a name with NUL is refused and escaped") {
  const TempFolder folder;
  put(folder / "a", "secret");
  const std::string path = (folder / "a") + std::string("\0.npy", 5);
  const Error error = error_of([&] { (void)local_files().read(path); });
  CHECK(error.code() == Code::file);
  CHECK(error.text().find("\\x00.npy") != std::string::npos);
  CHECK(error_of([&] { local_files().write(path, "x"); }).code() == Code::usage);
  CHECK(content(folder / "a") == "secret");
}

TEST_CASE("files: the size limit is kept") {
  const TempFolder folder;
  put(folder / "a", "12345");
  CHECK(local_files().read(folder / "a", 5).size() == 5);
  const Error error = error_of([&] { (void)local_files().read(folder / "a", 4); });
  CHECK(error.code() == Code::file);
  CHECK(error.text().find("5 bytes, and the limit is 4") != std::string::npos);
}

TEST_CASE("files: a file that changes while it is read is an error, never a signal (FAULTS 30)") {
  const TempFolder folder;
  const std::string path = folder / "a";
  put(path, std::string(10'000, 'x'));
  const OpenFile shrunk = OpenFile::at(path);
  std::filesystem::resize_file(path, 5000);
  const Error error = error_of([&] { (void)shrunk.read_all(kNoLimit); });
  CHECK(error.code() == Code::file);
  CHECK(error.text().find("5000 of 10000 bytes") != std::string::npos);

  const OpenFile grown = OpenFile::at(path);
  std::filesystem::resize_file(path, 5001);
  CHECK(error_of([&] { (void)grown.read_all(kNoLimit); }).code() == Code::file);

  const OpenFile touched = OpenFile::at(path);
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(error_of([&] { (void)touched.read_all(kNoLimit); }).code() == Code::file);
}

using Opener = OpenFile (*)(const std::string&, std::string_view);

TEST_CASE("files: nothing outside the folder is reached (FAULTS 32)") {
  for (const Opener open : {&OpenFile::beneath, &OpenFile::beneath_by_folders}) {
    const TempFolder outer;
    const std::string root = outer / "data";
    local_files().make_folders(root + "/sub");
    put(outer / "secret", "secret");
    put(root + "/good", "good");
    put(root + "/sub/deep", "deep");
    put(root + "/twice", "twice");
    std::filesystem::create_symlink(outer / "secret", root + "/out");
    std::filesystem::create_symlink("good", root + "/in");
    std::filesystem::create_symlink("sub", root + "/folder");
    std::filesystem::create_symlink(root, outer / "root_link");
    std::filesystem::create_hard_link(root + "/twice", root + "/again");

    CHECK(open(root, "good").read_all(kNoLimit).text() == "good");
    CHECK(open(root, "sub/deep").read_all(kNoLimit).text() == "deep");
    CHECK(open(root, "./sub//deep").read_all(kNoLimit).text() == "deep");
    CHECK(open(outer / "root_link", "good").read_all(kNoLimit).text() == "good");

    const auto refused = [&](std::string_view relative, std::string_view why) {
      const Error error = error_of([&] { (void)open(root, relative); });
      CHECK(error.code() == Code::file);
      CHECK_MESSAGE(error.text().find(why) != std::string::npos, error.text());
    };
    refused("../secret", "\"..\"");
    refused("sub/../good", "\"..\"");
    refused("..", "\"..\"");
    refused(outer / "secret", "absolute");
    refused("", "empty");
    refused(std::string_view("good\0x", 6), "NUL");
    refused("out", "symbolic link");
    refused("in", "symbolic link");
    refused("folder/deep", "symbolic link");
    refused("twice", "2 hard links");
    refused("sub", "a folder");
    refused(".", "a folder");
    refused("good/", "cannot be opened");
    refused("good/x", "cannot be opened");
    refused("missing", "No such file");
  }
}

TEST_CASE("files: reading beneath a folder keeps the limit and names the folder") {
  const TempFolder folder;
  put(folder / "a", "12345");
  CHECK(local_files().read_beneath(folder.path(), "a").text() == "12345");
  const Error error = error_of([&] { (void)local_files().read_beneath(folder.path(), "a", 4); });
  CHECK(error.text().find("\"a\" in \"" + folder.path()) != std::string::npos);
  CHECK(error_of([&] { (void)local_files().read_beneath(folder / "none", "a"); }).code() == Code::file);
}

TEST_CASE("files: a failed write leaves the old content and no temporary") {
  const TempFolder folder;
  const std::string path = folder / "a";
  put(path, "old");
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Error error = error_of([&] { local_files().write(path, std::string(5000, 'n')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(error.code() == Code::resource);
  CHECK(error.text().find("5000 bytes") != std::string::npos);
  CHECK(error.text().find(path) != std::string::npos);
  CHECK(content(path) == "old");
  CHECK(local_files().list(folder.path()) == std::vector<std::string>{"a"});
}

TEST_CASE("files: a failed sync is a failed write (FAULTS 96)") {
  const TempFolder folder;
  const std::string path = folder / "a";
  put(path, "old");
  syncs_until_failure = 0;
  const Error file = error_of([&] { local_files().write(path, "new"); });
  CHECK(file.code() == Code::resource);
  CHECK(file.text().find("syncing failed") != std::string::npos);
  CHECK(content(path) == "old");
  syncs_until_failure = 1;
  CHECK(error_of([&] { local_files().write(path, "new"); }).text().find("syncing the folder") != std::string::npos);
  syncs_until_failure = -1;
  CHECK(local_files().list(folder.path()) == std::vector<std::string>{"a"});
}

TEST_CASE("files: temporary files of a process with the same number on another host have other names") {
  const TempFolder folder;
  std::string name;
  after_next_rename = [&](const char* from) { name = from; };
  local_files().write(folder / "a", "new");
  constexpr std::size_t kHexDigits = 32;  // at random
  CHECK(name.size() > (folder / (".ferry-" + std::to_string(::getpid()) + "-0.tmp")).size() + kHexDigits);
}

TEST_CASE("files: who sees a file at its place may give the folder another name") {
  const TempFolder folder;
  const std::string before = folder / "before", after = folder / "after";
  local_files().make_folders(before);
  after_next_rename = [&](const char*) { local_files().rename_folder(before, after); };
  local_files().write(before + "/a", "new");
  CHECK(content(after + "/a") == "new");
}

TEST_CASE("files: a full disk is a resource error that names path and bytes") {
  const Error error = error_of([] { local_files().write("/dev/full", "12345"); });
  CHECK(error.code() == Code::resource);
  CHECK(error.text().find("/dev/full") != std::string::npos);
  CHECK(error.text().find("5 bytes") != std::string::npos);
}

TEST_CASE("files: places that cannot be written are the user's choice (2)") {
  const TempFolder folder;
  put(folder / "a", "");
  for (const std::string& path :
       {folder.path(), folder / "missing/x", folder / "a/x", folder / std::string(300, 'n'), std::string()}) {
    CHECK(error_of([&] { local_files().write(path, "x"); }).code() == Code::usage);
  }
  CHECK(error_of([&] { local_files().make_folders(folder / "a/x"); }).code() == Code::usage);
  CHECK(error_of([&] { local_files().make_folders(folder / "a"); }).code() == Code::usage);
  CHECK(error_of([&] { (void)local_files().list(folder / "missing"); }).code() == Code::file);
}

TEST_CASE("files: devices and links survive a write to them") {
  const TempFolder folder;
  local_files().write("/dev/null", "x");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  put(folder / "target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  local_files().write(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(content(folder / "target") == "new");
}

TEST_CASE("files: a redirected descriptor is added to, not replaced") {
  const TempFolder folder;
  const Descriptor out(::open((folder / "out").c_str(), O_WRONLY | O_CREAT, 0600));
  REQUIRE(::write(out.get(), "a", 1) == 1);
  local_files().write("/dev/fd/" + std::to_string(out.get()), "b");
  CHECK(content(folder / "out") == "ab");
}

TEST_CASE("files: folders are made, seen and listed in order") {
  const TempFolder folder;
  local_files().make_folders(folder / "x/y");
  local_files().make_folders(folder / "x/y");
  put(folder / "x/b", "");
  put(folder / "x/a", "");
  CHECK(local_files().list(folder / "x") == std::vector<std::string>{"a", "b", "y"});
  CHECK(local_files().exists(folder / "x/a"));
  CHECK_FALSE(local_files().exists(folder / "x/c"));
}

TEST_CASE("files: a folder gets a new name, on the disk, and a name that is taken is refused") {
  const TempFolder folder;
  local_files().make_folders(folder / "a");
  put(folder / "a/x", "text");
  local_files().rename_folder(folder / "a", folder / "b");
  CHECK(content(folder / "b/x") == "text");
  local_files().make_folders(folder / "c");
  put(folder / "c/y", "");
  const Error taken = error_of([&] { local_files().rename_folder(folder / "b", folder / "c"); });
  CHECK(taken.code() == Code::usage);
  CHECK(taken.text().find("cannot be renamed") != std::string::npos);
  for (const int sync : {0, 1}) {
    syncs_until_failure = sync;
    CHECK(error_of([&] { local_files().rename_folder(folder / "b", folder / "b"); }).code() == Code::resource);
  }
  syncs_until_failure = -1;
}

TEST_CASE("files: what is removed is gone with all in it, but not what links lead to") {
  const TempFolder folder;
  local_files().make_folders(folder / "a/b");
  put(folder / "a/b/x", "text");
  put(folder / "kept", "text");
  std::filesystem::create_symlink(folder / "kept", folder / "a/link");
  local_files().remove(folder / "a");
  local_files().remove(folder / "a");
  CHECK(local_files().list(folder.path()) == std::vector<std::string>{"kept"});
}

TEST_CASE("folder lock: held by one at a time, and says by whom, on any file system") {
  locks_missing = 0;
  SUBCASE("with flock") {}
  SUBCASE("without flock") {
    locks_missing = 1;
  }
  SUBCASE("without any locks") {
    locks_missing = 2;
  }
  const TempFolder folder;
  CHECK(folder_lock_text(folder.path()).empty());
  {
    const FolderLock lock(folder.path(), "job 12");
    CHECK(folder_lock_text(folder.path()) == "job 12");
    const Error second = error_of([&] { static_cast<void>(FolderLock(folder.path(), "job 13")); });
    CHECK(second.code() == Code::usage);
    CHECK(second.text().find("another job uses it\n  process " + std::to_string(::getpid())) != std::string::npos);
  }
  const FolderLock again(folder.path(), "job 13");
  CHECK(folder_lock_text(folder.path()) == "job 13");
  CHECK(error_of([&] { static_cast<void>(FolderLock(folder / "none", "")); }).code() == Code::usage);
  locks_missing = 0;
}

TEST_CASE("files: write_progress() grows with each part of a file") {
  const TempFolder folder;
  const std::uint64_t before = write_progress();
  local_files().write(folder / "file", "content");
  CHECK(write_progress() > before);
}

TEST_CASE("folder lock: its text is synced, for other hosts") {
  const TempFolder folder;
  syncs_until_failure = 0;
  CHECK(error_of([&] { static_cast<void>(FolderLock(folder.path(), "job 12")); }).code() == Code::resource);
  CHECK(syncs_until_failure == -1);
  CHECK_NOTHROW(FolderLock(folder.path(), "job 12"));
}

TEST_CASE("folder lock: a file that is a lock is taken if its process has ended, not if that cannot be known") {
  const TempFolder folder;
  std::string content_of_lock;
  locks_missing = 2;
  {
    const FolderLock lock(folder.path(), "job 12");
    content_of_lock = content(folder / "lock.process");
  }
  CHECK_FALSE(local_files().exists(folder / "lock.process"));
  const std::string start = "\n" + std::to_string(this_process().start) + "\n";
  const std::size_t at = content_of_lock.rfind(start);
  REQUIRE(at != std::string::npos);
  put(folder / "lock.process", content_of_lock.substr(0, at) + "\n1\n");  // an earlier process had this number
  CHECK_NOTHROW(FolderLock(folder.path(), "job 13"));
  put(folder / "lock.process", "process 1 on elsewhere\nelsewhere 1:1\n1\n1\n");
  const Error unknown = error_of([&] { static_cast<void>(FolderLock(folder.path(), "job 14")); });
  CHECK(unknown.text().find("process 1 on elsewhere") != std::string::npos);
  CHECK(unknown.text().find("if it was killed, remove \"" + (folder / "lock.process")) != std::string::npos);
  locks_missing = 0;
}

TEST_CASE("files: a file is moved over another one, on the disk") {
  const TempFolder folder;
  local_files().make_folders(folder / "a");
  put(folder / "a/x", "new");
  put(folder / "x", "old");
  local_files().move_file(folder / "a/x", folder / "x");
  CHECK(content(folder / "x") == "new");
  CHECK(local_files().list(folder / "a").empty());
  for (const int sync : {0, 1}) {
    syncs_until_failure = sync;
    CHECK(error_of([&] { local_files().move_file(folder / "x", folder / "x"); }).code() == Code::resource);
  }
  syncs_until_failure = -1;
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry

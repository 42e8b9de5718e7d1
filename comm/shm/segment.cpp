#include "comm/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"

namespace ferry::shm {
namespace {

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage;
}

/// The largest size to which this process may grow a file; beyond it the system sends a signal.
std::uint64_t largest_file() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur / kPage * kPage;
}

std::byte* map(int file, std::uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(at);
}

/// The fields of a ticket; `process` is 0 if the ticket is not valid.
struct Address {
  int process = 0, file = -1;
  std::string name;
};

Address parsed(std::string_view ticket) {
  Address address;
  std::array<char, 33> name{};
  if (std::sscanf(std::string(ticket).c_str(), "%d %d %32s", &address.process, &address.file, name.data()) != 3)
    return {};
  address.name = name.data();
  return address;
}

}  // namespace

std::unique_ptr<Segment> Segment::make(std::uint64_t bytes) {
  bytes = std::min(whole_pages(bytes), largest_file());
  std::uint64_t random = 0;
  if (bytes == 0 || getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) return nullptr;
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "ferry-%016llx", static_cast<unsigned long long>(random));
  const int file = memfd_create(name.data(), MFD_CLOEXEC);
  if (file < 0) return nullptr;
  std::byte* data = ftruncate(file, static_cast<off_t>(bytes)) == 0 ? map(file, bytes) : nullptr;
  if (data == nullptr) {
    close(file);
    return nullptr;
  }
  const std::string ticket = std::to_string(getpid()) + " " + std::to_string(file) + " " + name.data();
  return std::unique_ptr<Segment>(new Segment(file, data, bytes, ticket));
}

std::unique_ptr<Segment> Segment::open(std::string_view ticket) {
  const Address address = parsed(ticket);
  if (address.process <= 0) return nullptr;
  const std::string path = "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.file);
  // On this host, a ticket from another host or container may name an unrelated process. Its file may be anything, so
  // the file's name is checked before the file is opened.
  std::array<char, 128> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size() - 1);
  if (length <= 0 || std::string(target.data()) != "/memfd:" + address.name + " (deleted)") return nullptr;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  std::byte* data = nullptr;
  if (fstat(file, &status) == 0 && status.st_size > 0) data = map(file, static_cast<std::uint64_t>(status.st_size));
  close(file);
  if (data == nullptr) return nullptr;
  return std::unique_ptr<Segment>(
      new Segment(-1, data, static_cast<std::uint64_t>(status.st_size), std::string(ticket)));
}

Segment::~Segment() {
  munmap(data_, bytes_);
  if (file_ >= 0) close(file_);
}

namespace {

/// Reserves pages if a sandbox forbids fallocate, by writing a byte into each page. Returns 0 or an errno.
int reserve_by_writing(int file, std::uint64_t begin, std::uint64_t bytes) {
  for (std::uint64_t at = begin; at < begin + bytes; at += kPage) {
    ssize_t written = 0;
    do written = pwrite(file, "", 1, static_cast<off_t>(at));
    while (written < 0 && errno == EINTR);
    if (written < 0) return errno;
  }
  return 0;
}

}  // namespace

void Segment::reserve(std::uint64_t begin, std::uint64_t bytes, std::string_view what) {
  constexpr int kMostTries = 10'000;  // a limit in case the system always reports EINTR
  int failed = bytes > memory_and_swap_bytes() ? ENOMEM : EINTR;
  for (int i = 0; failed == EINTR && i < kMostTries; ++i)
    failed = posix_fallocate(file_, static_cast<off_t>(begin), static_cast<off_t>(whole_pages(bytes)));
  if (failed == ENOSYS || failed == EPERM) failed = reserve_by_writing(file_, begin, whole_pages(bytes));
  if (failed == 0) return;
  throw Error(Code::resource, "{}: no shared memory for {} bytes ({}): {}", as_is(what), bytes, human_bytes(bytes),
              std::strerror(failed))
      .hint("more tasks to split over, or a smaller batch");
}

void Segment::release(std::uint64_t begin, std::uint64_t bytes) noexcept {
  static_cast<void>(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                              static_cast<off_t>(whole_pages(bytes))));
}

Store::Store(std::shared_ptr<Segment> segment, std::uint64_t begin) : segment_(std::move(segment)) {
  begin = whole_pages(begin);
  free_[begin] = segment_->bytes() - begin;
}

std::shared_ptr<std::byte> Store::take(std::uint64_t bytes, std::string_view what) {
  const std::uint64_t size = whole_pages(bytes);
  std::uint64_t begin = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(free_.begin(), free_.end(), [&](const auto& range) { return range.second >= size; });
    if (fits == free_.end())
      throw Error(Code::resource, std::string(what) + ": no room for " + human_bytes(bytes) + " of shared memory")
          .hint("more tasks to split over, or a smaller batch");
    begin = fits->first;
    const std::uint64_t left = fits->second - size;
    free_.erase(fits);
    if (left > 0) free_[begin + size] = left;
  }
  try {
    segment_->reserve(begin, size, what);
  } catch (const Error&) {
    give(begin, size);
    throw;
  }
  return {segment_->data() + begin,
          [store = shared_from_this(), begin, size](std::byte*) { store->give(begin, size); }};
}

void Store::give(std::uint64_t begin, std::uint64_t bytes) noexcept {
  segment_->release(begin, bytes);
  const std::lock_guard lock(mutex_);
  const auto next = free_.lower_bound(begin);
  if (next != free_.end() && begin + bytes == next->first) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(begin);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_[begin] = bytes;
}

}  // namespace ferry::shm

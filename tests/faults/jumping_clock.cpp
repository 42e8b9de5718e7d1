// A library to preload that makes the wall clock of a process jump by a year at every reading, forward and back in
// turn. The monotonic clock is as it was.
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <cerrno>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr time_t kYear = 365L * 24 * 3600;

int now(clockid_t clock, timespec* out) {
  const long result = syscall(SYS_clock_gettime, clock, out);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return static_cast<int>(result);
  static std::atomic<int> looks{0};
  out->tv_sec += looks.fetch_add(1) % 2 == 0 ? kYear : -kYear;
  return 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* out) noexcept {
  return now(clock, out);
}

__attribute__((visibility("default"))) int gettimeofday(timeval* __restrict out, void* __restrict) noexcept {
  timespec time{};
  if (now(CLOCK_REALTIME, &time) != 0) return -1;
  *out = {time.tv_sec, time.tv_nsec / 1000};
  return 0;
}

__attribute__((visibility("default"))) time_t time(time_t* out) noexcept {
  timespec when{};
  if (now(CLOCK_REALTIME, &when) != 0) return -1;
  if (out != nullptr) *out = when.tv_sec;
  return when.tv_sec;
}

}  // extern "C"

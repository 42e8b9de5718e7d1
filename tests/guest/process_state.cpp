#include "tests/guest/process_state.hpp"

#include <cblas.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <locale>
#include <new>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

extern char** environ;

namespace guest {
namespace {

std::string bytes_of(const void* data, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += std::to_string(static_cast<const unsigned char*>(data)[i]) + " ";
  return text;
}

template <class T>
std::string address(T* function) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(function));
}

void add_signals(ProcessState& state) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    constexpr int kRestorer = 0x04000000;  // the C library sets it with each action
    state["signal " + std::to_string(number)] =
        address(action.sa_sigaction) + " flags " + std::to_string(action.sa_flags & ~kRestorer);
  }
  sigset_t blocked;
  sigemptyset(&blocked);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int number = 1; number < NSIG; ++number)
    if (sigismember(&blocked, number) == 1) state["blocked signals"] += std::to_string(number) + " ";
}

void add_floats(ProcessState& state) {
  state["rounding"] = std::to_string(std::fegetround());
  state["traps"] = std::to_string(fegetexcept());
  state["exception flags"] = std::to_string(std::fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW));
#if defined(__x86_64__)
  constexpr unsigned kRounded = 0x32;  // flags of numbers that were rounded or are small: making a graph raises them
  state["vector unit"] = std::to_string(_mm_getcsr() & ~kRounded);
#endif
}

void add_limits(ProcessState& state) {
  for (int which = 0; which < static_cast<int>(RLIMIT_NLIMITS); ++which) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource_t>(which), &limit) == 0)
      state["limit " + std::to_string(which)] =
          std::to_string(limit.rlim_cur) + " of " + std::to_string(limit.rlim_max);
  }
  state["priority"] = std::to_string(getpriority(PRIO_PROCESS, 0));
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  state["cores of this thread"] = bytes_of(&cores, sizeof cores);
}

void add_streams(ProcessState& state) {
  for (FILE* file : {stdin, stdout, stderr})
    state["buffer of " + std::to_string(fileno(file))] =
        std::to_string(__fbufsize(file)) + (__flbf(file) != 0 ? " by line" : "");
  for (const int number : {0, 1, 2})
    state["descriptor " + std::to_string(number)] =
        std::to_string(fcntl(number, F_GETFL)) + " " + std::to_string(fcntl(number, F_GETFD));
  state["precision of cout"] = std::to_string(std::cout.precision());
  state["flags of cout"] = std::to_string(std::cout.flags());
}

}  // namespace

ProcessState process_state() {
  ProcessState state;
  add_floats(state);  // before what else may raise flags
  add_signals(state);
  add_limits(state);
  add_streams(state);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    state["variable " + text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  state["locale of C"] = std::setlocale(LC_ALL, nullptr);
  state["locale of C++"] = std::locale().name();
  state["terminate handler"] = address(std::get_terminate());
  state["new handler"] = address(std::get_new_handler());
  char folder[4096];
  state["current folder"] = getcwd(folder, sizeof folder) != nullptr ? folder : "?";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Umask:")) state["umask"] = line;
  state["threads of OpenBLAS"] = std::to_string(openblas_get_num_threads());
  return state;
}

}  // namespace guest

#include "base/process/poll.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

int milliseconds_of(Duration time) {
  if (time == Duration::max()) return -1;
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return static_cast<int>(std::min<std::int64_t>(rounded, INT_MAX));
}

}  // namespace

void wait_ready(std::span<DescriptorWatch> watched, const Deadline& deadline) {
  std::vector<pollfd> polled;
  polled.reserve(watched.size());
  for (const DescriptorWatch& one : watched) {
    const int events = (one.to_read ? POLLIN : 0) | (one.to_write ? POLLOUT : 0);
    polled.push_back({events == 0 ? -1 : one.descriptor, static_cast<short>(events), 0});
  }
  while (::poll(polled.data(), polled.size(), milliseconds_of(deadline.remaining())) < 0) {
    if (errno == EINTR) continue;
    throw Error(Code::resource, "cannot wait for " + plural(watched.size(), "descriptor") + ": " + std::strerror(errno))
        .hint("a higher limit: ulimit -n");
  }
  for (std::size_t i = 0; i < watched.size(); ++i) watched[i].ready = polled[i].revents != 0;
}

SignalQueue::SignalQueue(std::initializer_list<int> signals) {
  sigset_t queued;
  sigemptyset(&queued);
  for (const int signal : signals) {
    sigaddset(&queued, signal);
    // The parent process may have set SIGCHLD to be ignored. Then the system would never report the end of a child.
    if (signal == SIGCHLD) ::signal(SIGCHLD, SIG_DFL);
  }
  pthread_sigmask(SIG_BLOCK, &queued, &before_);
  descriptor_ = Descriptor(signalfd(-1, &queued, SFD_CLOEXEC | SFD_NONBLOCK));
  if (descriptor_.open()) return;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  throw Error(Code::resource, std::string("no queue for signals: ") + std::strerror(errno))
      .hint("a higher limit: ulimit -n");
}

SignalQueue::~SignalQueue() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int SignalQueue::next() noexcept {
  signalfd_siginfo info{};
  return read(descriptor_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void never_wait(const Descriptor& descriptor) noexcept {
  fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace ferry

#include "runner/launch/task_input.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace ferry {
namespace {

constexpr std::size_t kMostUnderWay = 64 << 10;

bool in_background() {
  const pid_t group = tcgetpgrp(STDIN_FILENO);
  return group >= 0 && group != getpgrp();
}

}  // namespace

DescriptorWatch TaskInput::watch() const {
  return {STDIN_FILENO, !ended_ && under_way_ < kMostUnderWay && !in_background(), false, false};
}

void TaskInput::forward_input(AgentWire& wire) {
  std::array<char, kMostUnderWay> buffer{};
  const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  ended_ = got <= 0;
  if (ended_) {
    wire.enqueue(LaunchFrameKind::input_end, 0, {});
  } else {
    wire.enqueue(LaunchFrameKind::input, 0, {buffer.data(), static_cast<std::size_t>(got)});
    under_way_ += static_cast<std::size_t>(got);
  }
}

}  // namespace ferry

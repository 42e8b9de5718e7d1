#include "runner/launch/task_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace ferry {
namespace {

constexpr std::size_t kMostLine = 64 << 10;
constexpr std::size_t kMostQueue = 1 << 20;
constexpr std::size_t kMostWritten = 256 << 10;  // then it is removed from a queue

}  // namespace

void TaskOutput::add_line(int task, TaskStream stream, std::string_view line) {
  queue(stream).text.append("[").append(std::to_string(task)).append("] ").append(line).append("\n");
}

void TaskOutput::take(int task, TaskStream stream, std::string_view bytes) {
  if (queue(stream).lost) return;
  if (!numbered_) {
    queue(stream).text += bytes;
    return;
  }
  std::string& begun = begun_[{task, stream}];
  for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
    add_line(task, stream, begun.append(bytes.substr(0, end)));
    begun.clear();
  }
  begun += bytes;
  for (; begun.size() >= kMostLine; begun.erase(0, kMostLine))
    add_line(task, stream, std::string_view(begun).substr(0, kMostLine));
}

void TaskOutput::say(std::string_view line) {
  error_.text.append(line).append("\n");
}

void TaskOutput::end(int task) {
  for (const TaskStream stream : {TaskStream::out, TaskStream::error}) {
    const auto found = begun_.find({task, stream});
    if (found == begun_.end()) continue;
    if (!found->second.empty()) add_line(task, stream, found->second);
    begun_.erase(found);
  }
}

void TaskOutput::write_to(TaskStream stream) {
  Queue& to = queue(stream);
  if (to.left() == 0) return;
  // A pipe that is ready takes PIPE_BUF bytes without waiting; our descriptors are shared, so they stay as they are.
  const std::size_t size = std::min<std::size_t>(to.left(), PIPE_BUF);
  const ssize_t written = write(static_cast<int>(stream), to.text.data() + to.written, size);
  if (written > 0) to.written += static_cast<std::size_t>(written);
  if (to.left() == 0 || to.written > kMostWritten) to.text.erase(0, std::exchange(to.written, 0));
  if (written >= 0 || errno == EINTR || errno == EAGAIN) return;
  const std::string why = std::strerror(errno);
  to = {.text = {}, .lost = true};
  if (stream == TaskStream::out)
    say("warning: stdout: " + why + "; what tasks write there is dropped, the job goes on");
}

bool TaskOutput::full() const {
  return out_.left() + error_.left() > kMostQueue;
}

DescriptorWatch TaskOutput::watch(TaskStream stream) const {
  return {static_cast<int>(stream), false, queue(stream).left() > 0, false};
}

}  // namespace ferry

#include "runner/launch/task_output.hpp"

#include <sys/stat.h>
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
constexpr std::size_t kMostWritten = 256 << 10;  // bytes; written text is then removed from a queue

bool same_place(TaskStream a, TaskStream b) {
  struct stat left {
  }, right{};
  return fstat(static_cast<int>(a), &left) == 0 && fstat(static_cast<int>(b), &right) == 0 &&
         left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

/// The part of the text that is written at once. It has at most PIPE_BUF bytes, which a ready pipe takes without
/// blocking. If it has a line feed, it ends with the last one.
std::string_view portion(std::string_view text) {
  text = text.substr(0, PIPE_BUF);
  const std::size_t end = text.rfind('\n');
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

}  // namespace

TaskOutput::TaskOutput(bool numbered)
    : numbered_(numbered), one_place_(same_place(TaskStream::out, TaskStream::error)) {}

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

void TaskOutput::enqueue(std::string_view line) {
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
  if (!may_write(stream)) return;
  // The process that started the launcher shares these descriptors, so their flags stay unchanged: a write may block.
  const std::string_view bytes = portion(std::string_view(to.text).substr(to.written));
  const ssize_t written = write(static_cast<int>(stream), bytes.data(), bytes.size());
  if (written > 0) {
    to.written += static_cast<std::size_t>(written);
    to.in_line = bytes[static_cast<std::size_t>(written) - 1] != '\n';
    progressed_ = true;
  }
  if (to.left() == 0 || to.written > kMostWritten) to.text.erase(0, std::exchange(to.written, 0));
  if (written >= 0 || errno == EINTR || errno == EAGAIN) return;
  const std::string why = std::strerror(errno);
  to = {.text = {}, .lost = true};
  if (stream == TaskStream::out)
    enqueue("warning: stdout: " + why + "; output of tasks there is dropped, the job continues");
}

/// Whether there is text to write, and writing it would not break into an incomplete line of the other stream.
bool TaskOutput::may_write(TaskStream stream) const {
  const Queue& other = queue(stream == TaskStream::out ? TaskStream::error : TaskStream::out);
  return queue(stream).left() > 0 && !(numbered_ && one_place_ && other.in_line);
}

bool TaskOutput::full() const {
  return out_.left() + error_.left() > kMostQueue;
}

DescriptorWatch TaskOutput::watch(TaskStream stream) const {
  return {static_cast<int>(stream), false, may_write(stream), false};
}

}  // namespace ferry

// TaskOutput: forwards the output of tasks to the launcher's own stdout and stderr.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/process/poll.hpp"

namespace ferry {

enum class TaskStream : int { out = 1, error = 2 };  ///< values: the descriptors

/// Forwards whole lines of tasks, each with the task's number in front ("[1] …"). If not `numbered`, for a job with a
/// single task, forwards its bytes unchanged. Never waits for a slow reader.
class TaskOutput {
 public:
  explicit TaskOutput(bool numbered);

  /// Takes output of a task. An incomplete line is kept until it is complete, or has 64 KiB.
  void take(int task, TaskStream stream, std::string_view bytes);
  /// Takes a line of the launcher's own for stderr, without its line feed.
  void enqueue(std::string_view line);
  /// Call it when the task writes no more: its incomplete line becomes a line.
  void end(int task);

  /// Writes one portion to a descriptor that is `ready`. If writing fails, drops this output and all later output.
  void write_to(TaskStream stream);
  /// Whether something was written since the last call: the reader may be slow, but still reads.
  [[nodiscard]] bool take_progress() { return std::exchange(progressed_, false); }
  /// Whether all output is written.
  [[nodiscard]] bool empty() const { return out_.left() + error_.left() == 0; }
  /// Whether so much output waits for the reader that tasks should wait, too.
  [[nodiscard]] bool full() const;
  [[nodiscard]] DescriptorWatch watch(TaskStream stream) const;

 private:
  struct Queue {
    std::string text;
    std::size_t written = 0;  // bytes of `text`
    bool lost = false;        // writing has failed; output is dropped
    bool in_line = false;     // the last written line is incomplete

    [[nodiscard]] std::size_t left() const { return text.size() - written; }
  };
  Queue& queue(TaskStream stream) { return stream == TaskStream::out ? out_ : error_; }
  [[nodiscard]] const Queue& queue(TaskStream stream) const { return stream == TaskStream::out ? out_ : error_; }
  void add_line(int task, TaskStream stream, std::string_view line);

  [[nodiscard]] bool may_write(TaskStream stream) const;

  bool numbered_;
  bool one_place_;  // stdout and stderr go to the same file, pipe or terminal
  bool progressed_ = false;
  std::map<std::pair<int, TaskStream>, std::string> begun_;  // incomplete lines
  Queue out_, error_;
};

}  // namespace ferry

// LastWords: finds in the output of a task the reason why it ended.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ferry {

/// Reads all that the tasks of a job write to stderr.
class LastWords {
 public:
  void take(int task, std::string_view bytes);

  /// The text to add after "task 1 on h2 ended with exit code 5", in one line. It is the last error that the task
  /// itself has written (": …"). If there is none, and with `others`, it is the first error of any task ("; task 0
  /// says: …"). Else it is the task's last line ("; its last line: …"), or "" if there is none.
  [[nodiscard]] std::string of(int task, bool others);

 private:
  struct Task {
    std::string begun;  // an incomplete line
    std::string last, error;
  };
  void end_line(int task, Task& of);

  std::map<int, Task> tasks_;
  std::string first_error_;
  int first_task_ = 0;  // the task that wrote first_error_
};

}  // namespace ferry

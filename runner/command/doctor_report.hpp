// Prints the findings of `ferry doctor` as one table, or as one JSON object, for all tasks of a job; and derives from
// them the uses that are ready, and the commands to type.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// A line of the report: a topic, a sentence for people, and values for programs.
struct Finding {
  std::string topic;
  std::string text;
  nlohmann::json data;
  bool changes = false;  ///< the finding changes with time: tasks of one host differ only by chance
};

struct TaskFindings {
  int host = 0;  ///< tasks with the same number are on one host
  std::vector<Finding> findings;
};

/// The findings as one line of text, for another task of the same build; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string packed(std::span<const Finding> findings);
[[nodiscard]] std::vector<Finding> unpacked(std::string_view line);

struct Suggestion {
  std::string command;  ///< for a shell
  std::string purpose;  ///< "for jobs over MPI"
};

/// The conclusion from the findings of all tasks.
struct Readiness {
  std::vector<std::string> ready;       ///< "one process", "jobs over MPI (Open MPI v4.1.4)"; empty with an obstacle
  std::string obstacle;                 ///< why this job cannot run; mostly empty
  std::vector<Suggestion> suggestions;  ///< commands that remove the obstacle, or add something to `ready`
};
/// Reads the findings by their topics and data; a topic that is missing adds nothing. A job is ready for something if
/// all its tasks are.
[[nodiscard]] Readiness readiness(std::span<const TaskFindings> tasks);

/// One line for each topic. If tasks differ in a topic, it has a star, and a line for each text with the tasks that
/// found it. If a topic changes with time, all tasks of a host have the text of the host's first task. All tasks have
/// the same topics. The last lines are "ready for" (or "not ready") and, if there are suggestions, "to type".
[[nodiscard]] std::string doctor_text(std::span<const TaskFindings> tasks);
/// {"tasks": [{TOPIC: data, …}, …], "differ": [TOPIC, …], "ready": ["one process", …], "obstacle": "", "suggestions":
/// [{"command": …, "purpose": …}, …]}, in task order.
[[nodiscard]] std::string doctor_json(std::span<const TaskFindings> tasks);

}  // namespace ferry

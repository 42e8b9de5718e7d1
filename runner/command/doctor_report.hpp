// Prints the findings of `ferry doctor` as one table, or as one JSON object, for all tasks of a job.
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

/// One line for each topic. If tasks differ in a topic, it has a star, and a line for each text with the tasks that
/// found it. If a topic changes with time, all tasks of a host have the text of the host's first task. All tasks have
/// the same topics.
[[nodiscard]] std::string doctor_text(std::span<const TaskFindings> tasks);
/// {"tasks": [{TOPIC: data, …}, …], "differ": [TOPIC, …]}, in task order.
[[nodiscard]] std::string doctor_json(std::span<const TaskFindings> tasks);

}  // namespace ferry

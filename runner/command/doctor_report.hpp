// What `ferry doctor` finds, as one table or one JSON object for all tasks of a job.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// A line of the report: a topic and a sentence for people, values for programs.
struct Finding {
  std::string topic;
  std::string text;
  nlohmann::json data;
  bool changes = false;  ///< from one moment to the next: tasks of one host differ in it by chance only
};

struct TaskFindings {
  int host = 0;  ///< tasks with the same number are on one host
  std::vector<Finding> findings;
};

/// The findings as one line of text, for another task of the same build; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string packed(std::span<const Finding> findings);
[[nodiscard]] std::vector<Finding> unpacked(std::string_view line);

/// One line for each topic. Where tasks differ in it the topic has a star, and there is a line for each text, with the
/// tasks that find it. What changes is told for a host by its first task. All tasks have the same topics.
[[nodiscard]] std::string doctor_text(std::span<const TaskFindings> tasks);
/// {"tasks": [{TOPIC: data, …}, …], "differ": [TOPIC, …]}, in task order.
[[nodiscard]] std::string doctor_json(std::span<const TaskFindings> tasks);

}  // namespace ferry

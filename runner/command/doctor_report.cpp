#include "runner/command/doctor_report.hpp"

#include <algorithm>

#include "base/ranges.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using nlohmann::json;

constexpr std::size_t kTopicWidth = 14;

struct TextGroup {
  std::string text;
  std::vector<int> tasks;
};

/// The different texts of a topic, each with the tasks that found it, in the order of their first tasks.
std::vector<TextGroup> groups_of(std::span<const TaskFindings> tasks, std::size_t topic) {
  std::vector<TextGroup> groups;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    const auto first = std::ranges::find(tasks, tasks[task].host, &TaskFindings::host);
    const Finding& own = tasks[task].findings[topic];
    const std::string& text = own.changes ? first->findings[topic].text : own.text;
    auto group = std::ranges::find(groups, text, &TextGroup::text);
    if (group == groups.end()) group = groups.insert(group, {text, {}});
    group->tasks.push_back(static_cast<int>(task));
  }
  return groups;
}

std::string in_column(const std::string& text, std::size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

std::string tasks_text(const std::vector<int>& tasks) {
  return (tasks.size() == 1 ? "task " : "tasks ") + ranges(tasks);
}

std::string lines_of(const std::string& topic, const std::vector<TextGroup>& groups) {
  if (groups.size() == 1) return in_column(topic, kTopicWidth) + groups[0].text + "\n";
  std::size_t width = 0;
  for (const TextGroup& group : groups) width = std::max(width, tasks_text(group.tasks).size() + 2);
  std::string lines;
  for (const TextGroup& group : groups)
    lines += in_column(lines.empty() ? topic + " *" : "", kTopicWidth) + in_column(tasks_text(group.tasks), width) +
             group.text + "\n";
  return lines;
}

std::string dumped(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string packed(std::span<const Finding> findings) {
  json all = json::array();
  for (const Finding& finding : findings) all.push_back({finding.topic, finding.text, finding.data, finding.changes});
  return dumped(all, -1);
}

std::vector<Finding> unpacked(std::string_view line) {
  std::vector<Finding> findings;
  for (const json& each : json::parse(line)) findings.push_back({each[0], each[1], each[2], each[3]});
  return findings;
}

std::string doctor_text(std::span<const TaskFindings> tasks) {
  std::string text;
  bool differ = false;
  for (std::size_t topic = 0; topic < tasks[0].findings.size(); ++topic) {
    const std::vector<TextGroup> groups = groups_of(tasks, topic);
    differ = differ || groups.size() > 1;
    text += lines_of(tasks[0].findings[topic].topic, groups);
  }
  return differ ? text + "* differs between tasks\n" : text;
}

std::string doctor_json(std::span<const TaskFindings> tasks) {
  json all = {{"tasks", json::array()}, {"differ", json::array()}};
  for (const TaskFindings& task : tasks) {
    json& values = all["tasks"].emplace_back(json::object());
    for (const Finding& finding : task.findings) values[finding.topic] = finding.data;
  }
  for (std::size_t topic = 0; topic < tasks[0].findings.size(); ++topic)
    if (groups_of(tasks, topic).size() > 1) all["differ"].push_back(tasks[0].findings[topic].topic);
  return dumped(all, 2) + "\n";
}

}  // namespace ferry

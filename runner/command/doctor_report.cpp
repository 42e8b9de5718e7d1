#include "runner/command/doctor_report.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/ranges.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using nlohmann::json;

constexpr std::size_t kTopicWidth = 14;
constexpr std::uint64_t kUsualDescriptors = 1024;  // the default limit of Linux, enough for jobs of 400 tasks over TCP

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

/// The data of `topic` in a task's findings; an empty object if it is not there.
json data_of(const TaskFindings& task, std::string_view topic) {
  const auto found = std::ranges::find(task.findings, topic, &Finding::topic);
  return found == task.findings.end() ? json::object() : found->data;
}

/// Jobs over MPI are ready, or there is a command that installs the missing package.
void add_mpi(std::span<const TaskFindings> tasks, Readiness& found) {
  for (const TaskFindings& task : tasks) {
    const json mpi = data_of(task, "mpi");
    if (mpi.empty()) return;
    if (!mpi.value("version", "").empty()) continue;
    const std::string package = mpi.value("package", "");
    if (package.starts_with("ferry-"))
      found.suggestions.push_back(
          {formatted("sudo apt-get install ./{}_*.deb", as_is(package)), "for jobs over MPI: ferry's plug-in"});
    else if (!package.empty())
      found.suggestions.push_back({"sudo apt-get install " + package, "for jobs over MPI"});
    return;
  }
  found.ready.push_back(formatted("jobs over MPI ({})", data_of(tasks[0], "mpi").value("version", "")));
}

void add_gpus(std::span<const TaskFindings> tasks, Readiness& found) {
  if (std::ranges::all_of(tasks, [](const TaskFindings& task) { return data_of(task, "gpus").value("count", 0) > 0; }))
    found.ready.emplace_back("GPUs (--device gpu)");
}

/// Jobs over TCP are always ready; there are commands for limits that make them small or slow.
void add_tcp(std::span<const TaskFindings> tasks, Readiness& found) {
  found.ready.emplace_back("jobs over TCP (ferry launch)");
  const auto few = [](const TaskFindings& task) {
    const json most = data_of(task, "descriptors");
    return most.is_number() && most < kUsualDescriptors;
  };
  if (std::ranges::any_of(tasks, few))
    found.suggestions.push_back({formatted("ulimit -n {}", kUsualDescriptors), "for large jobs over TCP"});
  if (std::ranges::any_of(tasks, [](const TaskFindings& task) { return data_of(task, "tcp") == "bbr"; }))
    found.suggestions.push_back(
        {"sudo sysctl -w net.ipv4.tcp_congestion_control=reno", "for faster messages over TCP between hosts"});
}

/// The lines of the report that begin with `topic`.
std::string readiness_text(const Readiness& found) {
  std::string text = found.obstacle.empty() ? in_column("ready for", kTopicWidth) + join(found.ready, ", ")
                                            : in_column("not ready", kTopicWidth) + found.obstacle;
  text += "\n";
  std::size_t width = 0;
  for (const Suggestion& each : found.suggestions) width = std::max(width, each.command.size() + 2);
  for (const Suggestion& each : found.suggestions)
    text += in_column(&each == found.suggestions.data() ? "to type" : "", kTopicWidth) +
            in_column(each.command, width) + "# " + each.purpose + "\n";
  return text;
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

Readiness readiness(std::span<const TaskFindings> tasks) {
  for (const TaskFindings& task : tasks)
    if (const std::string error = data_of(task, "job").value("error", ""); !error.empty()) return {{}, error, {}};
  const auto library = [](const TaskFindings& task) { return data_of(task, "kernels").value("library", ""); };
  if (!std::ranges::all_of(tasks, [&](const TaskFindings& task) { return library(task) == library(tasks[0]); }))
    return {{},
            "the tasks multiply matrices by different code, and ferry rejects such a job (see the line kernels)",
            {{"export OPENBLAS_CORETYPE=Haswell", "for all tasks, before the job starts"}}};
  Readiness found;
  found.ready.emplace_back("one process");
  add_tcp(tasks, found);
  add_mpi(tasks, found);
  add_gpus(tasks, found);
  return found;
}

std::string doctor_text(std::span<const TaskFindings> tasks) {
  std::string text;
  bool differ = false;
  for (std::size_t topic = 0; topic < tasks[0].findings.size(); ++topic) {
    const std::vector<TextGroup> groups = groups_of(tasks, topic);
    differ = differ || groups.size() > 1;
    text += lines_of(tasks[0].findings[topic].topic, groups);
  }
  return text + (differ ? "* differs between tasks\n" : "") + readiness_text(readiness(tasks));
}

std::string doctor_json(std::span<const TaskFindings> tasks) {
  json all = {{"tasks", json::array()}, {"differ", json::array()}};
  for (const TaskFindings& task : tasks) {
    json& values = all["tasks"].emplace_back(json::object());
    for (const Finding& finding : task.findings) values[finding.topic] = finding.data;
  }
  for (std::size_t topic = 0; topic < tasks[0].findings.size(); ++topic)
    if (groups_of(tasks, topic).size() > 1) all["differ"].push_back(tasks[0].findings[topic].topic);
  const Readiness found = readiness(tasks);
  all["ready"] = found.ready;
  all["obstacle"] = found.obstacle;
  all["suggestions"] = json::array();
  for (const Suggestion& each : found.suggestions)
    all["suggestions"].push_back({{"command", each.command}, {"purpose", each.purpose}});
  return dumped(all, 2) + "\n";
}

}  // namespace ferry

#include "placement/explain/explain.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace ferry {
namespace {

/// "c" and "c:1" are both of the op c.
bool concerns(const Reason& reason, std::string_view name) {
  const std::string_view subject = reason.subject;
  return subject == name || (subject.starts_with(name) && subject.substr(name.size()).starts_with(":"));
}

Error unknown(const PlanResult& result, std::string_view name) {
  std::vector<std::string> subjects;
  for (const Reason& reason : result.reasons) subjects.push_back(reason.subject);
  Error error(Code::usage, "explain: the plan has no op named " + in_quotes(name));
  const std::string like = nearest(name, subjects);
  return like.empty() ? error.hint("ferry show FILE lists the ops") : error.hint(escaped(like) + "?");
}

/// The reasons for the values of each shared message, by the message's number, in plan order.
using Messages = std::map<std::uint32_t, std::vector<const Reason*>>;

Messages messages_of(const std::vector<Reason>& reasons) {
  Messages messages;
  for (const Reason& reason : reasons)
    if (reason.message > 0) messages[reason.message].push_back(&reason);
  return messages;
}

/// "in one message with a at f.cpp:1, b at f.cpp:2 and 3 more".
std::string company(const Reason& reason, const std::vector<const Reason*>& message) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> named;
  for (const Reason* other : message)
    if (other != &reason && named.size() < kNamed)
      named.push_back(escaped(other->subject) + (other->line.known() ? " at " + escaped(other->line.str()) : ""));
  const std::size_t more = message.size() - 1 - named.size();
  return "in one message with " + join(named, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

/// "task 0: F0 F1 B0 F2 B1 B2; waits 33 %", a line for each device.
std::string text_of(const PipelineChart& chart) {
  std::string text = chart.title + "\n";
  for (const PipelineChart::Row& row : chart.rows) {
    text += "  " + row.who + ":";
    for (const PipelineChart::Work& work : row.work) text += " " + work.name();
    if (chart.length > 0) text += "; waits " + std::to_string(chart.waits(row)) + " %";
    text += "\n";
  }
  return text;
}

}  // namespace

std::string explain(const PlanResult& result, std::string_view name, bool all) {
  std::size_t width = 0;
  std::vector<const Reason*> chosen;
  for (const Reason& reason : result.reasons) {
    if (name.empty() ? !all && !reason.transfer : !concerns(reason, name)) continue;
    chosen.push_back(&reason);
    width = std::max(width, std::min<std::size_t>(escaped(reason.subject).size(), 40));
  }
  if (chosen.empty() && !name.empty()) throw unknown(result, name);
  std::ranges::stable_partition(chosen, [](const Reason* reason) { return reason->transfer; });
  const Messages messages = messages_of(result.reasons);
  std::string text = chosen.empty() && !all ? "no value is moved between devices or tasks\n" : "";
  for (const PipelineChart& pipeline : result.pipelines) text += name.empty() ? text_of(pipeline) : "";
  for (const Reason* reason : chosen) {
    const std::string subject = escaped(reason->subject);
    text += subject + std::string(subject.size() < width ? width - subject.size() : 0, ' ') + "  " + reason->text;
    if (reason->line.known()) text += "  at " + escaped(reason->line.str());
    text += "\n";
    if (reason->message > 0)
      text += std::string(width, ' ') + "  " + company(*reason, messages.at(reason->message)) + "\n";
  }
  for (const std::string& warning : result.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace ferry

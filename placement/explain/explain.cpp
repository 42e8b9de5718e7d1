#include "placement/explain/explain.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "placement/explain/op_pattern.hpp"

namespace ferry {
namespace {

Error unknown_name_error(const PlanResult& result, std::string_view name) {
  std::vector<std::string> subjects;
  for (const Reason& reason : result.reasons) subjects.push_back(reason.subject);
  const bool is_pattern = name.find_first_of("*?") != std::string_view::npos;
  Error error(Code::usage, is_pattern ? formatted("explain: no op of the plan matches the pattern {:?}", name)
                                      : formatted("explain: the plan has no op named {:?}", name));
  const std::string like = nearest(name, subjects);
  return like.empty() ? error.hint("ferry show FILE lists the ops") : error.hint("{}?", like);
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
std::string shared_message_text(const Reason& reason, const std::vector<const Reason*>& message) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> named;
  for (const Reason* other : message)
    if (other != &reason && named.size() < kNamed)
      named.push_back(
          formatted("{}{}", other->subject, as_is(other->line.known() ? formatted(" at {}", other->line.str()) : "")));
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

/// "next best [R]: a step would take at least 0.120 ms more", by the certified bound.
std::string text_of_other(const Alternative& alternative, const std::string& mesh) {
  if (alternative.other.empty())
    return (std::isinf(alternative.found_seconds) ? "no other layouts were found that fit into the memory on "
                                                  : "no other layouts are possible on ") +
           mesh;
  const std::string next = "next best " + alternative.other + ": ",
                    least = milliseconds_text(alternative.at_least_seconds);
  const std::string found = milliseconds_text(std::max(alternative.found_seconds, 0.0));
  if (alternative.at_least_seconds <= 0)
    return next + "no certified difference; a step with it takes " + found + " more";
  return next + "a step would take at least " + least + " more" +
         (found == least ? "" : "; with it, " + found + " more");
}

/// Two lines for each op with chosen layouts that were compared with others.
std::string text_of(const AutoPlacement& placement) {
  const AutoPlacement::Candidate& taken = placement.candidates[placement.taken];
  std::string text;
  for (const Alternative& alternative : placement.alternatives) {
    const std::string subject = formatted("{}", alternative.subject);
    text += subject + "  " + taken.name + " gives it " + alternative.layouts + ": computing " +
            milliseconds_text(alternative.computing_seconds) + ", messages " +
            milliseconds_text(alternative.message_seconds) +
            (alternative.line.known() ? formatted("  at {}", alternative.line.str()) : "") + "\n" +
            std::string(subject.size(), ' ') + "  " + text_of_other(alternative, taken.name) + "\n";
  }
  if (!text.empty()) return text;
  std::vector<std::string> steps{taken.name + " " + milliseconds_text(taken.step_seconds)};
  for (const AutoPlacement::Candidate& other : placement.candidates)
    if (&other != &taken) steps.push_back(other.name + " " + milliseconds_text(other.step_seconds));
  return "no layouts are chosen for it; planned steps: " + join(steps, ", ") + "\n";
}

}  // namespace

std::vector<const Reason*> reasons_for(const PlanResult& result, std::string_view name, bool all) {
  const std::string pattern(name);
  std::vector<const Reason*> chosen;
  for (const Reason& reason : result.reasons)
    if (name.empty() ? all || reason.transfer : matches(reason.subject, pattern)) chosen.push_back(&reason);
  if (chosen.empty() && !name.empty()) throw unknown_name_error(result, name);
  std::ranges::stable_partition(chosen, [](const Reason* reason) { return reason->transfer; });
  return chosen;
}

std::string explain(const PlanResult& result, std::string_view name, bool all) {
  const std::vector<const Reason*> chosen = reasons_for(result, name, all);
  std::size_t width = 0;
  for (const Reason* reason : chosen)
    width = std::max(width, std::min<std::size_t>(formatted("{}", reason->subject).size(), 40));
  const Messages messages = messages_of(result.reasons);
  std::string text = chosen.empty() && !all ? "no value is moved between devices or tasks\n" : "";
  for (const PipelineChart& pipeline : result.pipelines) text += name.empty() ? text_of(pipeline) : "";
  for (const Reason* reason : chosen) {
    const std::string subject = formatted("{}", reason->subject);
    text += subject + std::string(subject.size() < width ? width - subject.size() : 0, ' ') + "  " + reason->text;
    if (reason->line.known()) text += formatted("  at {}", reason->line.str());
    text += "\n";
    if (reason->message > 0)
      text += std::string(width, ' ') + "  " + shared_message_text(*reason, messages.at(reason->message)) + "\n";
  }
  if (result.placement && !name.empty()) text += text_of(*result.placement);
  for (const std::string& warning : result.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace ferry

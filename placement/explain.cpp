#include "placement/explain.hpp"

#include <algorithm>

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

}  // namespace

std::string explain(const PlanResult& result, std::string_view name) {
  std::size_t width = 0;
  std::vector<const Reason*> chosen;
  for (const Reason& reason : result.reasons) {
    if (!name.empty() && !concerns(reason, name)) continue;
    chosen.push_back(&reason);
    width = std::max(width, std::min<std::size_t>(escaped(reason.subject).size(), 40));
  }
  if (chosen.empty() && !name.empty()) throw unknown(result, name);
  std::string text;
  for (const Reason* reason : chosen) {
    const std::string subject = escaped(reason->subject);
    text += subject + std::string(subject.size() < width ? width - subject.size() : 0, ' ') + "  " + reason->text;
    if (reason->line.known()) text += "  at " + escaped(reason->line.str());
    text += "\n";
  }
  for (const std::string& warning : result.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace ferry

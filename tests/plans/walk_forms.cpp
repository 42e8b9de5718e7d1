#include "tests/plans/walk_forms.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "placement/lower/class_nodes.hpp"
#include "placement/lower/find_roles.hpp"
#include "placement/lower/lower.hpp"
#include "placement/pipeline.hpp"
#include "placement/program/select.hpp"
#include "plan/text/exact_text.hpp"
#include "tests/plans/class_form.hpp"
#include "tests/plans/program_form.hpp"

namespace ferry::test {
namespace {

/// The text that `run` returns, or the text of its error.
template <class F>
std::string text_or_error(F run) {
  try {
    return run();
  } catch (const Error& error) {
    return "error: " + error.text();
  }
}

bool is_error(const std::string& text) {
  return text.starts_with("error: ");
}

/// The text with values numbered as they appear, and without numbers of attributes. A form that was read has no nodes
/// that earlier passes left out, and has attributes of its own for each node; so the numbers that follow may differ.
std::string renumbered(const std::string& text) {
  std::map<std::string, std::size_t> numbers;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool value = text[at] == '%', attrs = text.compare(at, 7, " attrs ") == 0;
    out += text[at];
    at += attrs ? 7 : 1;
    if (!value && !attrs) continue;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (value) out += std::to_string(numbers.try_emplace(text.substr(at, end - at), numbers.size()).first->second);
    at = end;
  }
  return out;
}

/// Lowers a program class by class.
class Lowered {
 public:
  explicit Lowered(const Program& program) : shared_(program, plan_) {
    plan_.class_of = find_roles(program, plan_, shared_.messages);
    nodes_.emplace(program, plan_, shared_.messages);
  }
  Plan& plan() { return plan_; }
  ClassPlan lower(std::size_t task) { return ferry::lower(shared_, *nodes_, static_cast<std::int32_t>(task)); }

 private:
  Plan plan_;
  Lowering shared_;
  std::optional<ClassNodes> nodes_;
};

/// Runs the class passes, each on the class and on the class that was read. Returns the first difference.
std::string differing_class(ClassPlan role, Plan& plan) {
  for (const FormPass<ClassPlan>& pass : class_passes()) {
    const std::string before = exact_tables_of(plan) + role.str();
    const auto index = static_cast<std::uint32_t>(plan.classes.size());
    std::string again = parse_classes(before, plan.topology, index).str();
    if (again != before) return "text before " + std::string(pass.name) + ": " + difference(before, again);
    again = parse_classes(before, plan.topology, index).str(pass.run);
    pass.run(role);
    const std::string after = exact_tables_of(plan) + role.str();
    if (again != after) return std::string(pass.name) + ": " + difference(after, again);
  }
  plan.classes.push_back(std::move(role.role));
  return {};
}

std::string differing_classes(const Program& program) {
  const Program read = parse_program(program.str(), program);
  Lowered one(program), other(read);
  if (one.plan().class_of != other.plan().class_of) return "find_roles";
  for (std::size_t task = 0; task < one.plan().class_of.size(); ++task) {
    if (one.plan().class_of[task] < one.plan().classes.size()) continue;
    ClassPlan role = one.lower(task);
    other.plan().classes.resize(one.plan().classes.size());
    const std::string text = exact_tables_of(one.plan()) + role.str();
    const std::string again = exact_tables_of(other.plan()) + other.lower(task).str();
    if (renumbered(text) != renumbered(again)) return "lower: " + difference(renumbered(text), renumbered(again));
    if (std::string where = differing_class(std::move(role), one.plan()); !where.empty()) return where;
    other.plan().channels = one.plan().channels;  // share_memory marks some
  }
  return {};
}

}  // namespace

std::string difference(const std::string& expected, const std::string& found) {
  const std::vector<std::string_view> a = split(expected, '\n'), b = split(found, '\n');
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string_view one = i < a.size() ? a[i] : "(no line)", other = i < b.size() ? b[i] : "(no line)";
    if (one != other)
      return "line " + std::to_string(i + 1) + "\n  expected " + std::string(one) + "\n  found    " +
             std::string(other);
  }
  return {};
}

std::string differing_form(const Graph& graph, const Signature& signature, const Topology& topology,
                           const KernelLookup& kernels, const PlanOptions& options) {
  Program program = select(graph, signature, topology, kernels, options);
  for (const FormPass<Program>& pass : program_passes()) {
    const std::string before = program.str();
    Program read = parse_program(before, program);
    if (const std::string again = read.str(); again != before)
      return "text before " + std::string(pass.name) + ": " + difference(before, again);
    const auto run = [&](Program& form) {
      return text_or_error([&] {
        pass.run(form);
        return form.str();
      });
    };
    const std::string after = renumbered(run(program)), again = renumbered(run(read));
    if (after != again) return std::string(pass.name) + ": " + difference(after, again);
    if (is_error(after)) return {};
  }
  std::string where;
  const std::string error = text_or_error([&] {
    where = differing_classes(program);
    return std::string();
  });
  return where + error;
}

}  // namespace ferry::test

// ClassPlan::str(): a class, with the facts that passes leave for later passes, as text.
#include <map>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "graph/op/op_work.hpp"
#include "placement/class/class_plan.hpp"
#include "plan/text/exact_text.hpp"

namespace ferry {
namespace {

/// A line for each op with facts, by name: "  op Exp elementwise streams".
std::string ops_text(const KernelFacts& facts, const PlanTables& tables) {
  std::map<std::string, std::string> ops;
  const auto add = [&](const std::unordered_set<std::uint32_t>& having, const char* what) {
    for (const std::uint32_t op : having) ops[exact_name(tables.text(op))] += what;
  };
  add(facts.elementwise, " elementwise");
  add(facts.shifts, " shifts");
  add(facts.heads, " finishes");
  add(facts.streams, " streams");
  std::string text;
  for (const auto& [op, has] : ops) text.append("  op ").append(op).append(has).append("\n");
  return text;
}

/// A line for each kernel with work, by name: "  kernel y has 640 product flops, 512 bytes"; "flops" without a kind are
/// of kind element.
std::string work_text(const KernelFacts& facts, const PlanTables& tables) {
  std::map<std::string, OpWork> kernels;
  for (const auto& [name, work] : facts.work) kernels[exact_name(tables.text(name))] = work;
  std::string text;
  for (const auto& [name, work] : kernels)
    text.append("  kernel ").append(name).append(" has ") +=
        digits_text(work.flops, 17) +
        (work.kind == WorkKind::element ? " " : " " + std::string(name_of(work.kind)) + " ") + "flops, " +
        digits_text(work.bytes, 17) + " bytes\n";
  return text;
}

std::string number(BufferId buffer) {
  return "%" + std::to_string(buffer);
}

}  // namespace

std::string ClassPlan::str() const {
  const Plan& plan = tables().plan();
  std::string text = exact_text_of(plan, snapshot(), static_cast<std::uint32_t>(plan.classes.size()));
  text += std::string("for later passes") + (joined() ? ", which may add no instruction" : "") + "\n  fuse from " +
          plural(static_cast<std::uint64_t>(facts.fuse_from), "element") + "\n" + ops_text(facts, tables()) +
          work_text(facts, tables());
  const std::map<std::uint32_t, std::int64_t> rows(facts.rows.begin(), facts.rows.end());
  for (const auto& [buffer, elements] : rows)
    text += "  rows of " + number(buffer) + " have " + plural(static_cast<std::uint64_t>(elements), "element") + "\n";
  for (const VariableUpdate& update : updates)
    text += "  update " + number(update.variable) + " to " + number(update.value) + ": " +
            exact_text_of(plan, role, update.instruction) + "\n";
  const std::map<std::uint32_t, std::vector<Instruction>> packed(packing.begin(), packing.end());
  for (const auto& [buffer, instructions] : packed)
    for (const Instruction& instruction : instructions)
      text += "  pack " + number(buffer) + ": " + exact_text_of(plan, role, instruction) + "\n";
  return text;
}

}  // namespace ferry

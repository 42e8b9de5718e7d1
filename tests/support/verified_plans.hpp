// For tests of passes: verified plans, and what is in them as text.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/text.hpp"
#include "graph/op/core_ops.hpp"
#include "plan/text/plan_text.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry::test {

/// The plan with all inputs fed, where ops are fused from `fuse_from` elements on. The verifier must accept it.
inline Plan verified(const Graph& g, const std::vector<Value>& fetches, const std::vector<Value>& targets = {},
                     int tasks = 1, std::int64_t fuse_from = 10000) {
  Feeds feeds;
  for (OpId op = 0; op < g.size(); ++op)
    if (&g.op(op).def() == &kInput) feeds[g.op(op).output(0)] = g.type(g.op(op).output(0)).shape.sizes();
  PlanOptions options;
  options.fuse_from = fuse_from;
  Plan plan = planned(g, fetches, tasks, targets, feeds, options);
  const Verdict verdict = verify(plan);
  CHECK_MESSAGE(verdict.pass, verdict.reason);
  return plan;
}

/// The kernels and tile regions of class 0 in a region, by default the step, in order: "MatMul+Add, Exp".
inline std::string kernels_of(const Plan& plan, std::uint32_t region = 1) {
  const PlanClass& role = plan.classes[0];
  std::vector<std::string> ops;
  for (std::uint32_t k = 0; k < role.regions[region].instructions.count; ++k) {
    const Instruction& i = role.instructions[role.regions[region].instructions[k]];
    if (i.what == Opcode::kernel || i.what == Opcode::tiles) ops.emplace_back(plan.string(i.op));
  }
  return join(ops, ", ");
}

/// Lines of the plan's text that have `part`.
inline std::string lines_with(const Plan& plan, const std::string& part) {
  std::string found;
  const std::string text = text_of(plan);
  for (const std::string_view line : split(text, '\n'))
    if (line.find(part) != std::string_view::npos) found.append(line) += "\n";
  return found;
}

}  // namespace ferry::test

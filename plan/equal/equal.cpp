#include "plan/equal/equal.hpp"

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "ops/op_set.hpp"
#include "plan/equal/graph_terms.hpp"
#include "plan/equal/terms.hpp"
#include "plan/equal/walk.hpp"

namespace ferry {
namespace {

std::vector<std::string> assumption_lines(const equal::GraphTerms& graph, const equal::Terms& terms,
                                          const equal::Assumptions& assumptions) {
  const auto number = [](std::uint64_t count) { return " (" + std::to_string(count) + ")"; };
  std::vector<std::string> lines{
      "the kernels of " + plural(assumptions.kernels.size(), "op") + " compute the ops, on parts as on whole values",
      "collectives" + number(assumptions.collectives) + " and messages" + number(assumptions.messages) +
          " bring what the verifier proved of them",
      "sums are the same in any order, over tasks and of more than two values" + number(terms.reordered())};
  if (assumptions.turns)
    lines.emplace_back(
        "servers make each update with what one worker gives, in place of the sum over all: not the same "
        "by definition");
  if (terms.evaluated() > 0)
    lines.push_back("the kernels compute the same constants" + number(terms.evaluated()) +
                    " for the graph and the plan");
  std::vector<std::string> own;
  for (const auto& [name, def] : graph.defs)
    if (default_ops().find(name) == nullptr) own.push_back(formatted("{}", name));
  if (!own.empty())
    lines.push_back("ops of yours give equal values for equal inputs and attributes: " + join(own, ", "));
  return lines;
}

}  // namespace

std::string_view name_of(Equality::Verdict verdict) {
  constexpr std::string_view kNames[] = {"equal", "differs", "not proved"};
  return kNames[static_cast<std::size_t>(verdict)];
}

void require_equal(const Equality& equality) {
  if (equality.verdict == Equality::Verdict::differs)
    throw Error(Code::plan, "the plan does not compute what the graph says: " + equality.reason)
        .hint("compare the plan with its own graph, for the entry, fetches and feeds that it was made for");
  if (equality.verdict == Equality::Verdict::not_proved)
    throw Error(Code::conformance, "it is not proved that the plan computes what the graph says: " + equality.reason)
        .hint("the plan may be right: docs/internals/equality.md has the rules of the proof");
}

Equality compare(const Graph& graph, const Signature& signature, const Plan& plan, const EqualityHelp& help) {
  Equality result;
  try {
    equal::Terms terms(help.evaluate);
    const equal::GraphTerms wanted(terms, graph, signature, plan.topology);
    equal::PlanWalk walk(plan, wanted, terms, *help.kernels);
    walk.run();
    result.verdict = Equality::Verdict::equal;
    result.rests_on = assumption_lines(wanted, terms, walk.assumptions());
  } catch (const equal::Stop& stop) {
    result.verdict = stop.differs ? Equality::Verdict::differs : Equality::Verdict::not_proved;
    result.reason = stop.what;
  } catch (const Error& error) {  // an op's definition rejects its inputs: the plan belongs to another graph
    result.verdict = Equality::Verdict::differs;
    result.reason = error.text();
  }
  return result;
}

}  // namespace ferry

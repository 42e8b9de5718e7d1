#include "ops/train/asynchronous.hpp"

#include <string>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/build.hpp"
#include "ops/train/beside.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kMostStaleness = 1'000'000;

constexpr AttrDef kStaleness[] = {{"staleness", "int"}};

std::vector<Shape> marked_shape(const OpFacts& facts) {
  const auto staleness = facts.attr<std::int64_t>("staleness");
  if (staleness < 1 || staleness > kMostStaleness)
    OpFacts::fail("a staleness of " + std::to_string(staleness) + "; there may be 1 to " +
                  std::to_string(kMostStaleness));
  return {facts.shape(0)};
}

constexpr OpDef kAsynchronousUpdate{.name = "Asynchronous",
                                    .types = "T->T",
                                    .T = kAnyType,
                                    .attrs = kStaleness,
                                    .index = "...->...",
                                    .infer = marked_shape,
                                    .flops = 0,
                                    .flags = kView | kAsynchronous,
                                    .no_grad = "marks an assignment"};

constexpr const OpDef* kOps[] = {&kAsynchronousUpdate};

[[noreturn]] void refuse(const std::string& what, const SourceLine& line) {
  throw Error(Code::plan, "asynchronous: " + what).at(line);
}

}  // namespace

Values asynchronous(const Values& updates, const AsynchronousOptions& options, source_location at) {
  if (updates.empty()) refuse("no updates", at);
  Graph& graph = graph_of(updates, at);
  const SourceLine here = graph.line_for(at);
  if (options.staleness < 0 || options.staleness > kMostStaleness)
    refuse("a staleness of " + std::to_string(options.staleness) + " steps; there may be 0 to " +
               std::to_string(kMostStaleness),
           here);
  for (const Value& update : updates)
    if (&update.op().def() != &kAssign) refuse(update.op().str() + " is not the result of assign()", here);
  if (options.staleness == 0) return updates;
  const Scope line = caller_scope(graph, at);
  Values marked;
  for (const Value& update : updates) {
    const Scope place = graph.annotated(place_of(graph.value(update.op().inputs()[0])));
    marked.push_back(make_one(kAsynchronousUpdate, {update}, here, {{"staleness", options.staleness}}));
  }
  return marked;
}

std::span<const OpDef* const> asynchronous_ops() {
  return kOps;
}

}  // namespace ferry

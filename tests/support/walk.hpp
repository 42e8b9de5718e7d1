// A graph whose variables depend on every step before: for tests of what is saved and restored.
#pragma once

#include <string>
#include <vector>

#include "executor/session/session.hpp"
#include "graph/graph.hpp"
#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"

namespace ferry::test {

/// Two variables, one split over the tasks and one on all of them, to which each step adds random numbers and rows in a
/// random order; a third is used by `other` alone.
struct Walk {
  explicit Walk(const std::string& cut_name = "cut") {
    Tensor rows(DType::float32, {12, 4});
    for (std::size_t i = 0; i < rows.mutable_data<float>().size(); ++i)
      rows.mutable_data<float>()[i] = static_cast<float>(i % 11) * 0.1F;
    auto all = graph.on(graph.mesh("dp"));
    const Value batch_now = batch({graph.constant(rows)}, 5)[0];
    const Value cut = graph.variable(cut_name, normal(graph, {6, 4})).laid({split(0)});
    const Value whole = graph.variable("whole", uniform(graph, {4}));
    const Value rarely = graph.variable("rarely", normal(graph, {3}));
    request.targets = {assign(cut, cut * 0.9 + normal(graph, {6, 4})),
                       assign(whole, whole * 0.5 + sum(cut, {0}) * 0.01 + sum(batch_now, {0}))};
    request.fetches = {sum(cut)};
    graph.target("train", request.targets[0]);
    graph.target("train", request.targets[1]);
    graph.fetch("train", "total", request.fetches[0]);
    other.targets = {assign(rarely, rarely + uniform(graph, {3}))};
    other.fetches = {rarely};
  }

  Graph graph;
  RunRequest request, other;
};

inline Cluster cluster_of(int tasks) {
  ClusterOptions options;
  options.tasks = tasks;
  options.threads = 1;
  options.transport = "inproc";
  return Cluster::connect(options);
}

/// The names of the variables whose bits differ, after "other variables" if their numbers differ; "" if none do.
inline std::string difference(const TensorMap& a, const TensorMap& b) {
  std::string text = a.size() == b.size() ? "" : "other variables";
  for (const auto& [name, tensor] : a)
    if (const auto found = b.find(name); found != b.end() && !tensor.same_bits(found->second)) text += " " + name;
  return text;
}

}  // namespace ferry::test

#include "tests/support/random_plan.hpp"

#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/plans.hpp"

namespace ferry::test {
namespace {

/// Small integers, some of them negative or 0: rows × 3.
Tensor small_integers(std::int64_t rows) {
  Tensor tensor(DType::float32, {rows, 3});
  int next = 0;
  for (float& element : tensor.mutable_data<float>()) element = static_cast<float>(next++ % 5 - 2);
  return tensor;
}

class MeshGraph {
 public:
  MeshGraph(std::uint64_t seed, const RandomPlanOptions& options) : dice_(seed), options_(options) {}

  RandomMeshGraph build() {
    const bool grid = options_.tasks == 4 && dice_.one_in(2);
    mesh_ = grid ? graph_.mesh({{"dp", 2}, {"tp", 2}}) : graph_.mesh("dp");
    const Layout rows = grid ? Layout{split(0), replicated()} : Layout{split(0)};
    const Layout both = grid ? Layout{split(0), split(1)} : Layout{split(0)};
    rows_ = 1 + dice_.below(9);
    std::vector<Value> values;
    {
      auto all = graph_.on(mesh_);
      values.push_back(graph_.constant(small_integers(rows_)).laid(both));
      values.push_back(graph_.constant(small_integers(rows_)));
      weights_ = graph_.variable("w", graph_.constant(Tensor(DType::float32, {3, 3})));
      part_ = graph_.variable("v", graph_.constant(Tensor(DType::float32, {rows_, 3}))).laid(rows);
      values.push_back(part_);
      updates_.push_back(assigned(part_, part_ + 1.0));
    }
    while (made_ < options_.ops) values.push_back(anything(values, 0));
    std::vector<Value> fetches;
    for (int i = 0; i < 3; ++i) fetches.push_back(dice_.of(values));
    {
      auto all = graph_.on(mesh_);
      updates_.push_back(assigned(weights_, weights_ + sum(dice_.of(values))));
    }
    Topology topology = Topology::local(options_.tasks);
    for (int t = 0; t < options_.tasks; ++t) {
      TaskInfo& task = topology.tasks[t];
      task.host = t * options_.hosts / options_.tasks;
      if (options_.shares_memory) task.memory_group = task.host;
    }
    return {std::move(made_graph_), fetches, updates_, topology};
  }

 private:
  Value assigned(const Value& variable, const Value& value) {
    return graph_.add(kAssign, std::vector<Value>{variable, value}, {}, SourceLine(__FILE__, __LINE__))[0];
  }

  /// A value of rows × 3, on the mesh or on one task.
  Value anything(const std::vector<Value>& values, int depth) {
    ++made_;
    if (dice_.one_in(3)) {
      DeviceSpec spec;
      spec.task = dice_.below(options_.tasks);
      if (options_.hosts > 1 && dice_.one_in(3)) return sent_together(values);
      auto here = graph_.device(spec);
      return one_op(values);
    }
    auto all = graph_.on(mesh_);
    if (options_.control && depth < 2 && dice_.one_in(5))
      return dice_.one_in(2) ? loop(values, depth) : branch(values, depth);
    return one_op(values);
  }

  Value one_op(const std::vector<Value>& values) {
    const Value& x = dice_.of(values);
    switch (dice_.below(8)) {
      case 0:
        return x + dice_.of(values);
      case 1:
        return x * 2.0;
      case 2:
        return matmul(x, weights_);
      case 3:
        return x - sum(dice_.of(values));
      case 4:
        return x + sum(dice_.of(values), {0});
      case 5:
        return x + two_sums(dice_.of(values), dice_.of(values));
      case 6:
        return maximum(x, max(dice_.of(values), {1}, true));
      default:
        return (x + 1.0) * -x;
    }
  }

  /// Uses on one task three values that one task makes, which may share a message.
  Value sent_together(const std::vector<Value>& values) {
    DeviceSpec maker, user;
    maker.task = dice_.below(options_.tasks);
    user.task = dice_.below(options_.tasks);
    Values made;
    {
      auto here = graph_.device(maker);
      for (int i = 0; i < 3; ++i) made.push_back(dice_.one_in(3) ? -dice_.of(values) : dice_.of(values) * 2.0);
    }
    auto here = graph_.device(user);
    return maximum(made[0] + made[1], made[2]);
  }

  /// Two sums over the mesh that are both made before one is used, so that they may share a message.
  Value two_sums(const Value& a, const Value& b) {
    const Value first = sum(part_ * a, {0}), second = sum(part_ - b, {dice_.below(2)}, true);
    return maximum(first, second);
  }

  Value loop(const std::vector<Value>& values, int depth) {
    return while_loop(
        {dice_.of(values), graph_.constant(0.0)},
        [&](const Values& c) { return less(c[1] + maximum(sum(c[0] + part_) * 0.25, -1.0), 2.0); },
        [&](const Values& c) {
          std::vector<Value> inside{c[0]};
          for (int i = 1 + dice_.below(3); i > 0; --i) inside.push_back(anything(inside, depth + 1));
          return Values{inside.back() + dice_.of(values), c[1] + 1.0};
        })[0];
  }

  Value branch(const std::vector<Value>& values, int depth) {
    const auto side = [&] {
      std::vector<Value> inside{dice_.of(values)};
      for (int i = 1 + dice_.below(2); i > 0; --i) inside.push_back(anything(inside, depth + 1));
      return Values{inside.back() * 1.0};
    };
    const Value predicate = less(sum(dice_.of(values) + part_), 3.0);
    return cond(predicate, side, side)[0];
  }

  std::unique_ptr<Graph> made_graph_ = std::make_unique<Graph>();
  Graph& graph_ = *made_graph_;
  Dice dice_;
  RandomPlanOptions options_;
  MeshId mesh_ = kNoMesh;
  std::int64_t rows_ = 1;
  int made_ = 0;
  Value weights_, part_;
  std::vector<Value> updates_;
};

}  // namespace

RandomMeshGraph random_mesh_graph(std::uint64_t seed, const RandomPlanOptions& options) {
  return MeshGraph(seed, options).build();
}

Plan random_plan(std::uint64_t seed, const RandomPlanOptions& options) {
  const RandomMeshGraph made = random_mesh_graph(seed, options);
  PlanOptions plan_options;
  plan_options.fuse_from = options.fuse_from;
  return planned(*made.graph, made.fetches, made.topology, made.targets, {}, plan_options);
}

}  // namespace ferry::test

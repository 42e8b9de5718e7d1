// Plans of graphs for tests, with a kernel for every op.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.hpp"
#include "placement/planner.hpp"
#include "tests/support/random_graph.hpp"

namespace ferry::test {

/// Every op has a CPU kernel. Add, Sub and Mul may work in place, MatMul gives its result in pieces, and Sum and
/// Softmax along the last dim work by rows.
class AllKernels final : public KernelLookup {
 public:
  [[nodiscard]] const Kernel* find(std::string_view op, DeviceKind kind) const override {
    if (kind != DeviceKind::cpu) return nullptr;
    const bool in_place = op == "Add" || op == "Sub" || op == "Mul";
    if (in_place) return &kInPlace;
    if (op == "Maximum" || op == "Neg" || op == "Select" || op == "Less" || op == "Div" || op == "Square" ||
        op == "Rsqrt")
      return &kElementwise;
    if (op == "Sum") return &kSum;
    if (op == "Softmax") return &kSoftmax;
    if (op == "Window") return &kWindow;
    return op == "MatMul" ? &kMatMul : &kOther;
  }

 private:
  static std::int64_t row(const KernelSetup& setup, const Ints& axes) {
    const int last = setup.inputs[0].shape.rank() - 1;
    const bool along = axes.size() == 1 && (axes[0] == last || axes[0] == -1);
    const std::int64_t size = along ? setup.inputs[0].shape[last].size() : 0;
    return size > 1 && size <= 4096 ? size : 0;
  }
  static std::int64_t sum_row(const KernelSetup& setup) { return row(setup, setup.attrs.get<Ints>("axes")); }
  static std::int64_t softmax_row(const KernelSetup& setup) {
    return row(setup, Ints{setup.attrs.get<std::int64_t>("axis")});
  }

  static constexpr Kernel kInPlace{
      .op = "in place", .in_place = 3, .streams = true, .elementwise = true, .takes = kAnyType};
  static constexpr Kernel kElementwise{.op = "elementwise", .streams = true, .elementwise = true, .takes = kAnyType};
  static constexpr Kernel kSum{.op = "Sum", .row = sum_row, .takes = kAnyType};
  static constexpr Kernel kSoftmax{.op = "Softmax", .row = softmax_row, .takes = kAnyType};
  static constexpr Kernel kMatMul{.op = "MatMul", .finishes = true, .takes = kAnyType};
  static constexpr Kernel kWindow{
      .op = "Window",
      .shifting = {.shifts = [](const KernelRun&) { return Shifts(); },
                   .in_runs = [](const Attrs& attrs) { return attrs.get<Ints>("step").back() == 1; }},
      .takes = kAnyType};
  static constexpr Kernel kOther{.op = "other", .takes = kAnyType};
};

using Feeds = std::map<ValueId, std::vector<std::int64_t>>;

/// The same on each kind of device.
class KernelsEverywhere final : public KernelLookup {
 public:
  [[nodiscard]] const Kernel* find(std::string_view op, DeviceKind) const override {
    return host_.find(op, DeviceKind::cpu);
  }

 private:
  AllKernels host_;
};

/// The plan; the result of each pass is checked.
inline Plan made(const Graph& g, const Signature& signature, const Topology& topology, PlanOptions options = {}) {
  options.check_passes = true;
  return make_plan(g, signature, topology, AllKernels(), options).plan;
}

/// The plan for these fetches and targets, with inputs fed at task 0.
inline Plan planned(const Graph& g, const std::vector<Value>& fetches, const Topology& topology,
                    const std::vector<Value>& targets = {}, const Feeds& feeds = {}, const PlanOptions& options = {}) {
  Signature signature;
  for (const Value& fetch : fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : targets) signature.targets.push_back(target.op().id());
  for (const auto& [value, sizes] : feeds) signature.feeds.push_back({value, 0, sizes});
  return made(g, signature, topology, options);
}

/// The program as text after a pass; after a pass over classes, the text of each class.
inline std::string text_after(std::string_view pass, const Graph& g, const Signature& signature,
                              const Topology& topology, PlanOptions options = {}) {
  std::string text;
  options.on_pass = [&](const PassReport& report) {
    if (report.name == pass) text += report.text();
  };
  (void)made(g, signature, topology, options);
  return text;
}

/// The same on `tasks` tasks of one host.
inline Plan planned(const Graph& g, const std::vector<Value>& fetches, int tasks,
                    const std::vector<Value>& targets = {}, const Feeds& feeds = {}, const PlanOptions& options = {}) {
  return planned(g, fetches, Topology::local(tasks), targets, feeds, options);
}

/// Removes an instruction from its region.
inline void erase_instruction(PlanClass& c, std::size_t index) {
  c.instructions.erase(c.instructions.begin() + static_cast<std::ptrdiff_t>(index));
  for (Region& region : c.regions) {
    if (region.instructions.first > index)
      --region.instructions.first;
    else if (region.instructions.first + region.instructions.count > index)
      --region.instructions.count;
  }
}

inline Feeds feeds_of(const RandomGraph& made) {
  Feeds feeds;
  for (const Value& input : made.inputs) feeds[input.id()] = input.shape().sizes();
  return feeds;
}

}  // namespace ferry::test

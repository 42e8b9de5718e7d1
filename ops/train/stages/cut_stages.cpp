#include "ops/train/stages/cut_stages.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "base/planned_time.hpp"
#include "graph/graph_facts.hpp"
#include "graph/op/op_time.hpp"
#include "graph/op/op_work.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kSlack = 20;  // the slowest part may take 1/kSlack more than the optimum
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Whether `stages` parts suffice if no part may take longer than `longest`.
bool fits(std::span<const std::int64_t> times, const HeldBytes& held, std::size_t stages, std::int64_t longest) {
  std::size_t parts = 1;
  std::int64_t now = 0, bytes = 0;
  for (std::size_t op = 0; op < times.size(); ++op) {
    if (times[op] > longest || held.of(op) > held.most) return false;
    if (now + times[op] > longest || bytes > held.most - held.of(op)) {
      ++parts;
      now = bytes = 0;
    }
    now += times[op];
    bytes += held.of(op);
  }
  return parts <= stages;
}

std::int64_t shortest(std::span<const std::int64_t> times, const HeldBytes& held, std::size_t stages) {
  std::int64_t low = 0, high = std::accumulate(times.begin(), times.end(), std::int64_t{0}, add_times);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fits(times, held, stages, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// For each op: the bytes of the values that this op and earlier ops make for later ops.
std::vector<std::int64_t> bytes_kept(const Graph& graph, std::span<const OpId> ops) {
  std::unordered_map<OpId, std::size_t> at;
  for (std::size_t i = 0; i < ops.size(); ++i) at[ops[i]] = i;
  std::unordered_map<ValueId, std::size_t> last;  // the last reader of each value
  for (std::size_t i = 0; i < ops.size(); ++i)
    for (const ValueId input : graph.op(ops[i]).inputs())
      if (at.contains(graph.producer(input))) last[input] = i;
  std::vector<std::int64_t> kept(ops.size());
  for (const auto& [value, reader] : last)
    for (std::size_t i = at.at(graph.producer(value)); i < reader; ++i) kept[i] += known_bytes(graph.type(value));
  return kept;
}

/// The first op of each part if each part takes from `shortest` to `longest` within the limit of memory, and the fewest
/// bytes go from part to part. Empty if there are no such parts.
std::vector<std::size_t> cut_between(std::span<const std::int64_t> times, std::span<const std::int64_t> bytes,
                                     const HeldBytes& held, std::size_t stages, std::int64_t shortest,
                                     std::int64_t longest) {
  const std::size_t ops = times.size();
  // fewest[s][n]: the fewest bytes between s + 1 parts of the first n ops; from[s][n]: the first op of the last such
  // part.
  std::vector<std::vector<std::int64_t>> fewest(stages, std::vector<std::int64_t>(ops + 1, kNever));
  std::vector<std::vector<std::size_t>> from(stages, std::vector<std::size_t>(ops + 1));
  std::int64_t time = 0, left = held.most;  // of the part up to now: its time, and the bytes that it may still hold
  const auto add = [&](std::size_t op) {
    time = add_times(time, times[op]);
    left -= held.of(op);
    return time <= longest && left >= 0;
  };
  for (std::size_t n = 1; n <= ops && add(n - 1); ++n)
    if (time >= shortest) fewest[0][n] = 0;
  for (std::size_t s = 1; s < stages; ++s)
    for (std::size_t n = s + 1; n <= ops; ++n) {
      time = 0;
      left = held.most;
      for (std::size_t begin = n; begin-- > s && add(begin);) {
        if (time < shortest || fewest[s - 1][begin] == kNever) continue;
        const std::int64_t moved = fewest[s - 1][begin] + bytes[begin - 1];
        if (moved >= fewest[s][n]) continue;
        fewest[s][n] = moved;
        from[s][n] = begin;
      }
    }
  if (fewest[stages - 1][ops] == kNever) return {};
  std::vector<std::size_t> first(stages);
  for (std::size_t s = stages, n = ops; s-- > 0;) n = first[s] = from[s][n];
  return first;
}

/// The times of ops on a CPU as planning assumes them (graph/op/op_time.hpp), in picoseconds. Sizes that are not known
/// count as 1. A value that fusing may keep in the cache costs no memory traffic.
class PlannedTimes {
 public:
  PlannedTimes(const Graph& graph, const ComputeCosts& costs) : graph_(graph), costs_(costs), readers_(graph.values()) {
    for (OpId id = 0; id < graph.size(); ++id)
      for (const ValueId input : graph.op(id).inputs()) readers_[input].add(id);
  }

  [[nodiscard]] std::int64_t of(const Op& op) const {
    if (op.def().is(kControlFlow)) return of_bodies(op);
    if (op.def().is(kView)) return 0;
    std::vector<Type> outputs;
    double kept = 0;
    for (const ValueId input : op.inputs())
      if (may_fuse(graph_.op(graph_.producer(input)).def(), op.def())) kept += bytes_of(input);
    for (int o = 0; o < op.outputs(); ++o) {
      outputs.push_back(graph_.type(op.output(o)));
      const Readers& readers = readers_[op.output(o)];
      if (readers.count == 1 && may_fuse(op.def(), graph_.op(readers.last).def())) kept += bytes_of(op.output(o));
    }
    OpWork work = op.def().work(GraphFacts(op), outputs);
    work.bytes = std::max(0.0, work.bytes - kept);
    return kernel_picoseconds(DeviceKind::cpu, costs_, work);
  }

 private:
  struct Readers {
    std::size_t count = 0;
    OpId last = 0;
    void add(OpId reader) {
      ++count;
      last = reader;
    }
  };

  [[nodiscard]] double bytes_of(ValueId value) const { return static_cast<double>(known_bytes(graph_.type(value))); }

  /// The time of the ops of all bodies: one iteration of a loop, both sides of a branch.
  [[nodiscard]] std::int64_t of_bodies(const Op& op) const {
    std::int64_t time = 0;
    for (const auto& [name, value] : op.attrs())
      if (const auto* ref = std::get_if<SubgraphRef>(&value)) {
        const Graph& body = graph_.subgraph(*ref);
        const PlannedTimes planned(body, costs_);
        for (OpId inner = 0; inner < body.size(); ++inner) time = add_times(time, planned.of(body.op(inner)));
      }
    return time;
  }

  const Graph& graph_;
  const ComputeCosts& costs_;
  std::vector<Readers> readers_;
};

/// For each op, whether training sends gradients through it: it depends on a variable and is differentiable.
std::vector<bool> find_trained(const Graph& graph) {
  std::vector<bool> trained(graph.size());
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    const auto from_trained = [&](ValueId input) { return trained[graph.producer(input)]; };
    trained[id] = op.def().role == OpRole::variable ||
                  (op.def().grad != nullptr && std::ranges::any_of(op.inputs(), from_trained));
  }
  return trained;
}

/// The bytes of the part that holds the most.
std::int64_t most_held(std::span<const std::int64_t> held, std::span<const std::size_t> first) {
  std::int64_t most = 0;
  for (std::size_t s = 0; s < first.size(); ++s) {
    const auto end = s + 1 < first.size() ? held.begin() + static_cast<std::ptrdiff_t>(first[s + 1]) : held.end();
    most = std::max(most, std::accumulate(held.begin() + static_cast<std::ptrdiff_t>(first[s]), end, std::int64_t{0}));
  }
  return most;
}

}  // namespace

std::vector<std::size_t> cut_evenly(std::span<const std::int64_t> times, std::span<const std::int64_t> bytes,
                                    std::size_t stages, const HeldBytes& held) {
  const std::int64_t best = shortest(times, held, stages), longest = best + best / kSlack;
  const std::int64_t all = std::accumulate(times.begin(), times.end(), std::int64_t{0}, add_times);
  const std::int64_t half = all / static_cast<std::int64_t>(2 * stages);
  const std::vector<std::size_t> first = cut_between(times, bytes, held, stages, half, longest);
  return first.empty() ? cut_between(times, bytes, held, stages, 0, longest) : first;
}

std::vector<std::size_t> cut_into_stages(const Graph& graph, std::span<const OpId> ops, std::size_t stages,
                                         const ComputeCosts& costs, const StageMemory& memory) {
  const PlannedTimes planned(graph, costs);
  const std::vector<bool> trained = find_trained(graph);
  std::vector<std::int64_t> times;
  for (const OpId id : ops) {
    const auto has_gradient = [&](ValueId input) { return trained[graph.producer(input)]; };
    const auto passes = trained[id] ? 1 + std::ranges::count_if(graph.op(id).inputs(), has_gradient) : 1;
    times.push_back(repeat_time(planned.of(graph.op(id)), passes));
  }
  const std::vector<std::int64_t> bytes = bytes_kept(graph, ops);
  std::vector<std::size_t> fastest = cut_evenly(times, bytes, stages);
  if (memory.saved_percent == 0) return fastest;
  const std::int64_t most = most_held(memory.of_ops, fastest), least = shortest(memory.of_ops, {}, stages);
  return cut_evenly(times, bytes, stages, {memory.of_ops, most - (most - least) / 100 * memory.saved_percent});
}

}  // namespace ferry

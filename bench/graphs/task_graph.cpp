#include "bench/graphs/task_graph.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "ops/control/state.hpp"

namespace ferry::bench {
namespace {

constexpr std::array<std::string_view, 5> kPatterns = {"stencil_1d", "nearest", "all_to_all", "fft", "no_comm"};
/// The number of neighbours on each side in "nearest": Task Bench's radix of 5.
constexpr std::int64_t kNear = 2;

std::int64_t iterations_of_a_task = 0;

constexpr AttrDef kPointAttrs[] = {{"timestep", "int"}, {"timesteps", "int"}, {"point", "int"}, {"before", "ints"}};

/// A task of Task Bench. Its work is known only when it runs; the planner assumes flops of half a microsecond.
constexpr OpDef kPoint{.name = "Point",
                       .types = "T...->T",
                       .attrs = kPointAttrs,
                       .infer = [](const OpFacts& facts) { return std::vector<Shape>{facts.shape(0)}; },
                       .flops = 4096,
                       .no_grad = "it is a benchmark"};

struct PointState final : KernelState {
  std::int64_t timestep = 0, timesteps = 0, point = 0;
  Ints before;
};

std::unique_ptr<KernelState> prepare_point(const KernelSetup& setup) {
  auto state = std::make_unique<PointState>();
  state->timestep = setup.attrs.get<std::int64_t>("timestep");
  state->timesteps = setup.attrs.get<std::int64_t>("timesteps");
  state->point = setup.attrs.get<std::int64_t>("point");
  state->before = setup.attrs.get<Ints>("before");
  return state;
}

void run_point(KernelRun& run) {
  const auto& state = static_cast<const PointState&>(*run.state);
  const std::int64_t now = run.step * state.timesteps + state.timestep;
  Payload payload;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    std::memcpy(&payload, run.inputs[i].data, sizeof payload);
    check_payload(payload, {now - 1, state.before[i]});
  }
  compute(iterations_of_a_task);
  payload = {now, state.point};
  std::memcpy(run.outputs[0].data, &payload, sizeof payload);
}

constexpr Kernel kPointKernel{.op = "Point", .run = run_point, .prepare = prepare_point};

}  // namespace

std::span<const std::string_view> patterns() {
  return kPatterns;
}

std::vector<std::int64_t> points_before(std::string_view pattern, std::int64_t timestep, std::int64_t point) {
  std::vector<std::int64_t> found;
  const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t stride) {
    for (std::int64_t p = from; p <= to; p += stride)
      if (p >= 0 && p < kPoints) found.push_back(p);
  };
  const std::int64_t distance = std::int64_t{1} << (timestep % 3);
  static_assert(kPoints == 8, "butterflies of three distances");
  if (pattern == "stencil_1d")
    add(point - 1, point + 1, 1);
  else if (pattern == "nearest")
    add(point - kNear, point + kNear, 1);
  else if (pattern == "all_to_all")
    add(0, kPoints - 1, 1);
  else if (pattern == "fft")
    add(point - distance, point + distance, distance);
  else if (pattern == "no_comm")
    found = {point};
  else
    throw Error(Code::usage, "there is no pattern {:?}", pattern);
  return found;
}

void compute(std::int64_t iterations) {
  // The numbers are computed in blocks that stay in registers: stores would queue behind the stores of messages.
  using Two = double __attribute__((vector_size(16)));
  constexpr std::size_t kInRegisters = 8;
  for (std::size_t block = 0; block < 64; block += 2 * kInRegisters) {
    std::array<Two, kInRegisters> values;
    values.fill(Two{1.2345, 1.2345});
    for (Two& value : values) asm volatile("" : "+x"(value));  // hides the values from the compiler
    for (std::int64_t k = 0; k < iterations; ++k)
      for (Two& value : values) value = value * value + value;
    for (Two& value : values) asm volatile("" : : "x"(value));
  }
}

void check_payload(const Payload& payload, const Payload& expected) {
  if (payload == expected) return;
  const auto text = [](const Payload& p) {
    return "timestep " + std::to_string(p.timestep) + ", point " + std::to_string(p.point);
  };
  throw Error(Code::bug, "a task of " + text(expected) + " gave the payload of " + text(payload));
}

std::vector<Value> add_task_graph(Graph& graph, std::string_view pattern, std::int64_t timesteps, int tasks) {
  std::vector<Value> first, last;
  const auto place = [&](std::int64_t point) {
    return graph.device("/task:" + std::to_string(point * tasks / kPoints));
  };
  for (std::int64_t point = 0; point < kPoints; ++point) {
    const auto here = place(point);
    const Tensor before = Tensor::of<std::int64_t>({2}, {-1, point});
    first.push_back(graph.variable("point" + std::to_string(point), graph.constant(before)));
  }
  last = first;
  for (std::int64_t timestep = 0; timestep < timesteps; ++timestep) {
    std::vector<Value> now;
    for (std::int64_t point = 0; point < kPoints; ++point) {
      const auto here = place(point);
      const Ints before = points_before(pattern, timestep, point);
      Values inputs;
      for (std::int64_t p : before) inputs.push_back(last[p]);
      const Attrs attrs{{"timestep", timestep}, {"timesteps", timesteps}, {"point", point}, {"before", before}};
      now.push_back(graph.add(kPoint, inputs, attrs, SourceLine())[0]);
    }
    last = std::move(now);
  }
  for (std::size_t point = 0; point < last.size(); ++point) {
    const auto here = place(static_cast<std::int64_t>(point));
    last[point] = assign(first[point], last[point]);
  }
  return last;
}

const KernelTable& kernels_with_points() {
  static const KernelTable table = [] {
    KernelTable made = cpu_kernels();
    made.add({&kPointKernel, 1});
    return made;
  }();
  return table;
}

void set_iterations(std::int64_t iterations) {
  iterations_of_a_task = iterations;
}

}  // namespace ferry::bench

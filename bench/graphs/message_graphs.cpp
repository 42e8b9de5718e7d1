#include "bench/graphs/message_graphs.hpp"

#include <string>

#include "ops/control/state.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

namespace ferry::bench {
namespace {

std::int64_t floats_in(std::int64_t bytes) {
  return bytes / static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

Work work_for(std::int64_t bytes) {
  if (bytes <= 4096) return {.steps = 12, .per_step = 500};
  if (bytes <= (64 << 10)) return {.steps = 9, .per_step = 100};
  if (bytes <= (1 << 20)) return {.steps = 6, .per_step = 20};
  if (bytes <= (16 << 20)) return {.steps = 2, .per_step = 20};
  return {.steps = 2, .per_step = 8};
}

Value hop_chain(Graph& graph, int first, int second, std::int64_t bytes, std::int64_t hops) {
  const auto on_task = [&](std::int64_t k) {
    return graph.device("/task:" + std::to_string(k % 2 == 0 ? first : second));
  };
  Value value, begin;
  {
    auto here = on_task(0);
    value = begin = graph.variable("v", broadcast_to(graph.constant(0.0), {floats_in(bytes)}));
  }
  for (std::int64_t k = 0; k < hops; ++k) {
    auto here = on_task(k);
    value = value + 1.0;
  }
  auto here = on_task(0);
  return assign(begin, value);
}

Value sum_rounds(Graph& graph, MeshId mesh, std::size_t axes, std::size_t axis, std::int64_t members,
                 std::int64_t bytes, std::int64_t rounds) {
  auto everywhere = graph.on(mesh);
  const Layout same(axes, replicated());
  Layout by_member = same, parts = same;
  by_member[axis] = split(0);
  parts[axis] = partial(Reduce::sum);
  const Value first = graph.variable("v", broadcast_to(graph.constant(1.0), {floats_in(bytes)})).laid(same);
  const Value number = graph.constant(1.0 / static_cast<double>(members));
  const Value shares = graph.variable("shares", broadcast_to(number, {members, 1}).laid(by_member)).laid(by_member);
  const Value share = sum(shares, {0}).laid(parts);
  Value value = first;
  for (std::int64_t k = 0; k < rounds; ++k) value = (share * value).laid(parts);
  return assign(first, value);
}

}  // namespace ferry::bench

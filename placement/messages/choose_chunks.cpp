#include "placement/messages/choose_chunks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "placement/program/parts.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kMostChunks = 64;

/// True if the value, which is on the GPU of `where`, needs no whole copy in the host's memory.
bool stays_on_gpu(const Program& program, const Users& users, PValueId value, WhereId where) {
  return std::ranges::all_of(users[value], [&](NodeId id) {
    const Node& user = program.nodes[id];
    switch (user.kind) {
      case NodeKind::transfer:
        return user.inputs == 1;
      case NodeKind::compute:
        return user.where == where && !program.runs_on_host(user) &&
               (!user.def->is(kView) || stays_on_gpu(program, users, user.outputs[0], where));
      case NodeKind::assign:
        return user.where == where;
      default:
        return false;
    }
  });
}

/// True if the transfer's value is on a GPU at one end, and the host at that end needs the whole value.
bool is_needed_whole(const Program& program, const Users& users, const Node& transfer) {
  const PValueId given = program.inputs(transfer)[0];
  const bool from_gpu = is_on_gpu(program, given), to_gpu = program.where(transfer).kind == DeviceKind::gpu;
  return (from_gpu && !stays_on_gpu(program, users, program.stored(given), program.values[given].where)) ||
         (to_gpu && !stays_on_gpu(program, users, transfer.outputs[0], transfer.where));
}

/// The links that the value passes, in order.
std::vector<LinkCost> hops_of(const Program& program, const Node& node) {
  const std::array ends{sender_of(program, node), program.where(node).tasks[0]};
  const Topology& topology = *program.topology;
  std::vector<LinkCost> hops{topology.link(DeviceKind::cpu, topology.on_one_host(ends), false)};
  const bool from_gpu = is_on_gpu(program, program.inputs(node)[0]);
  if (!from_gpu && topology.share_memory(ends)) return hops;
  if (from_gpu) hops.push_back(topology.host_gpu);
  if (program.where(node).kind == DeviceKind::gpu) hops.push_back(topology.host_gpu);
  return hops;
}

/// Cuts `bytes` into at most `chunks` chunks and returns the elements of each. Every chunk except the last is a
/// multiple of kBufferAlign bytes.
std::vector<std::int64_t> cut_into_chunks(std::int64_t bytes, std::int64_t chunks, std::int64_t element) {
  constexpr auto kAlign = static_cast<std::int64_t>(kBufferAlign);
  const std::int64_t each = ((bytes + chunks - 1) / chunks + kAlign - 1) / kAlign * kAlign;
  std::vector<std::int64_t> elements;
  for (std::int64_t begin = 0; begin < bytes; begin += each)
    elements.push_back(std::min(each, bytes - begin) / element);
  return elements;
}

}  // namespace

std::int64_t best_chunks(std::int64_t bytes, std::span<const LinkCost> hops) {
  double latencies = 0, all = 0, slowest = 0;
  for (const LinkCost& hop : hops) {
    latencies += hop.latency_seconds;
    all += 1 / hop.bytes_per_second;
    slowest = std::max(slowest, 1 / hop.bytes_per_second);
  }
  const double overlap = static_cast<double>(bytes) * (all - slowest);
  if (latencies <= 0) return overlap > 0 ? kMostChunks : 1;
  const double least = std::floor(0.5 + std::sqrt(overlap / latencies + 0.25));
  return static_cast<std::int64_t>(std::min(least, static_cast<double>(kMostChunks)));
}

std::vector<std::int64_t> choose_chunks(const Program& program, const Users& users, NodeId transfer) {
  const Node& node = program.nodes[transfer];
  const PValueId sent = program.inputs(node)[0];
  const PValue& value = program.values[sent];
  const std::int64_t bytes = value.type.bytes();
  const auto element = static_cast<std::int64_t>(size_of(value.type.dtype));
  const bool whole = node.inputs > 1 || node.once || value.type.shape.bounded() || program.turns.contains(transfer) ||
                     !program.wheres[value.where].single();
  if (whole || is_needed_whole(program, users, node)) return {bytes / element};
  return cut_into_chunks(bytes, best_chunks(bytes, hops_of(program, node)), element);
}

}  // namespace ferry

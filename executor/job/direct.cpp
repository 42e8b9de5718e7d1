// Collectives without a graph: they run the same schedules as plans do, on the caller's spans.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/float_state.hpp"
#include "comm/group.hpp"
#include "executor/job/cluster.hpp"
#include "executor/job/cluster_state.hpp"
#include "kernels/kernel.hpp"
#include "plan/schedule/schedule.hpp"

namespace ferry {
namespace {

constexpr std::uint32_t kChannel = 0;  // plans use it, too, but no session may run meanwhile
constexpr std::chrono::milliseconds kIdle{1};

Transport& only_transport(const Cluster::State& state, std::string_view call) {
  if (state.transports.size() == 1 && !state.relay) return *state.transports[0];
  throw Error(Code::usage, std::string(call) + ": this process has " + std::to_string(state.transports.size()) +
                               " of the job's " + std::to_string(state.topology.size()) +
                               " tasks, and one call cannot speak for all of them")
      .hint("start one process for each task, or use a graph");
}

Schedule all_reduce_schedule(const Cluster::State& state, std::size_t bytes) {
  std::vector<std::int32_t> tasks(state.topology.tasks.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  const bool share_memory = tasks.size() > 1 && state.topology.share_memory(tasks);
  return ordered_all_reduce(state.topology.size(), static_cast<std::int64_t>(bytes), share_memory);
}

/// One collective of all tasks.
struct DirectCall {
  Schedule schedule;
  std::vector<std::int64_t> parts;
  DType dtype = DType::uint8;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  Fold fold = {};
};

void run(const Cluster::State& state, const DirectCall& direct, std::string_view call) {
  const DefaultFloats floats;
  Transport& transport = *state.transports[0];
  std::vector<std::int32_t> tasks(static_cast<std::size_t>(transport.tasks()));
  std::iota(tasks.begin(), tasks.end(), 0);
  const auto elements = direct.schedule.input_elements(direct.parts, transport.task());
  const bool lends = direct.schedule.via == Via::get;
  const auto room =
      static_cast<std::size_t>(lends ? elements * static_cast<std::int64_t>(size_of(direct.dtype))
                                     : staging_bytes(direct.schedule, direct.parts, direct.dtype, transport.task()));
  const std::shared_ptr<std::byte> shared = lends && room > 0 ? transport.memory(room, std::string(call)) : nullptr;
  std::vector<std::byte> own(shared ? 0 : room);
  const auto group = prepare_call(transport, {.schedule = direct.schedule,
                                              .parts = direct.parts,
                                              .tasks = tasks,
                                              .member = transport.task(),
                                              .channel = kChannel,
                                              .dtype = direct.dtype,
                                              .input = direct.input,
                                              .output = direct.output,
                                              .staging = {shared ? shared.get() : own.data(), room},
                                              .fold = direct.fold});
  const Deadline deadline(system_clock(), state.options.deadline);
  group->start();
  while (!group->progress()) {
    if (deadline.expired()) {
      Error error(Code::stalled, std::string(call) + ": task " + std::to_string(transport.task()) +
                                     " waits for others, which did not come before the deadline");
      transport.abort({transport.task(), error.code(), error.text()});
      throw std::move(error);
    }
    transport.idle(kIdle);
  }
}

}  // namespace

void Cluster::all_reduce_bytes(DType dtype, std::span<std::byte> values, Reduce reduce) const {
  const Transport& transport = only_transport(*state_, "all_reduce");
  const auto count = static_cast<std::int64_t>(values.size() / size_of(dtype));
  DirectCall direct{.schedule = all_reduce_schedule(*state_, values.size()), .parts = {}, .dtype = dtype};
  if (direct.schedule.whole)
    direct.parts.push_back(count);
  else
    for (int task = 0; task < transport.tasks(); ++task)
      direct.parts.push_back(part_of(count, transport.tasks(), task).size);
  direct.input = values.data();
  direct.output = values.data();
  direct.fold = [&](std::byte* output, const std::byte* left, const std::byte* right, std::int64_t elements) {
    cpu_kernels().fold()(reduce, dtype, output, left, right, elements);
  };
  run(*state_, direct, "all_reduce");
}

void Cluster::broadcast_bytes(std::span<std::byte> values, int root) const {
  const Transport& transport = only_transport(*state_, "broadcast");
  if (root < 0 || root >= transport.tasks()) {
    throw Error(Code::usage, "broadcast: root " + std::to_string(root) + " is not one of the " +
                                 std::to_string(transport.tasks()) + " tasks");
  }
  const std::vector<std::byte> mine(values.begin(), values.end());
  run(*state_,
      {.schedule = direct_schedule(CollectiveKind::broadcast, transport.tasks(), root),
       .parts = {static_cast<std::int64_t>(values.size())},
       .input = mine.data(),
       .output = values.data()},
      "broadcast");
}

void Cluster::all_gather_bytes(std::span<const std::byte> mine, const Room& room) const {
  Transport& transport = only_transport(*state_, "all_gather");
  DirectCall direct{.schedule = direct_schedule(CollectiveKind::all_gather, transport.tasks()), .parts = {}};
  const Deadline deadline(system_clock(), state_->options.deadline);
  for (const std::string& size : transport.exchange(std::to_string(mine.size()), deadline)) {
    direct.parts.push_back(std::stoll(size));
  }
  const std::span<std::byte> all =
      room(static_cast<std::size_t>(std::accumulate(direct.parts.begin(), direct.parts.end(), std::int64_t{0})));
  direct.input = mine.data();
  direct.output = all.data();
  run(*state_, direct, "all_gather");
}

}  // namespace ferry

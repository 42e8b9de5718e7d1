#include "executor/session/run_stats.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/blob.hpp"
#include "base/error.hpp"
#include "executor/watch/slowness.hpp"
#include "plan/traffic/class_traffic.hpp"

namespace ferry {
namespace {

void add(BlobWriter& writer, const Traffic& t) {
  writer.add(t.sent_messages)
      .add(t.sent_bytes)
      .add(t.received_messages)
      .add(t.received_bytes)
      .add(t.copies)
      .add(t.collective_bytes);
}

Traffic traffic(BlobReader& reader) {
  Traffic t;
  for (std::int64_t* field :
       {&t.sent_messages, &t.sent_bytes, &t.received_messages, &t.received_bytes, &t.copies, &t.collective_bytes})
    *field = reader.number();
  return t;
}

constexpr std::int64_t DeviceWork::*kCounters[] = {
    &DeviceWork::launches,     &DeviceWork::copies_in,   &DeviceWork::bytes_in,
    &DeviceWork::copies_out,   &DeviceWork::bytes_out,   &DeviceWork::copies_within,
    &DeviceWork::bytes_within, &DeviceWork::collectives, &DeviceWork::replays};

void add(BlobWriter& writer, const DeviceWork& work) {
  for (const auto counter : kCounters) writer.add(work.*counter);
}

DeviceWork read_work(BlobReader& reader) {
  DeviceWork work;
  for (const auto counter : kCounters) work.*counter = reader.number();
  return work;
}

/// Adds the counters of the task's devices besides the host.
void add_devices(BlobWriter& writer, const TaskExecutor& executor, const Plan& plan, int task) {
  const PlanClass& role = plan.class_for(task);
  std::vector<DeviceWork> planned(role.devices.size());
  for (RegionId region = 0; region < executor.region_runs().size(); ++region) {
    const std::vector<DeviceWork> once = work_of(plan, task, region);
    for (std::int64_t run = 0; run < executor.region_runs()[region]; ++run)
      for (std::size_t d = 0; d < once.size(); ++d) planned[d] += once[d];
  }
  writer.add(std::ranges::count_if(role.devices, [](const PlanDevice& d) { return d.kind != DeviceKind::cpu; }));
  for (std::size_t d = 0; d < role.devices.size(); ++d) {
    const PlanDevice& device = role.devices[d];
    if (device.kind == DeviceKind::cpu) continue;
    writer.add(std::string(name_of(device.kind)) + ":" + std::to_string(device.index));
    add(writer, executor.device_work().empty() ? DeviceWork() : executor.device_work()[d]);
    add(writer, planned[d]);
    writer.add(executor.arena_bytes()[d]).add(device.step_bytes + device.state_bytes);
  }
}

std::vector<DeviceStats> read_devices(BlobReader& reader) {
  std::vector<DeviceStats> all(static_cast<std::size_t>(reader.number()));
  for (DeviceStats& device : all) {
    device.device = reader.text();
    device.measured = read_work(reader);
    device.planned = read_work(reader);
    device.peak_bytes = static_cast<std::uint64_t>(reader.number());
    device.planned_peak_bytes = static_cast<std::uint64_t>(reader.number());
  }
  return all;
}

/// The traffic that the plan predicts for the task's last step, with each region counted as often as it ran.
Traffic planned_traffic(const Plan& plan, int task, std::span<const std::int64_t> region_runs) {
  Traffic planned;
  for (RegionId region = 0; region < region_runs.size(); ++region)
    for (std::int64_t k = 0; k < region_runs[region]; ++k) planned += traffic_of(plan, task, region);
  return planned;
}

std::string packed(const LastRun& run, int threads, int task) {
  const TaskExecutor& executor = *run.longest_run_plan->executor;
  const Plan& plan = run.longest_run_plan->planned->result.plan;
  std::uint64_t planned_bytes = 0;
  for (const PlanDevice& device : plan.class_for(task).devices) planned_bytes += device.step_bytes + device.state_bytes;
  BlobWriter writer;
  writer.add(plan.topology.tasks[task].host_name).add(threads);
  add(writer, executor.measured());
  add(writer, planned_traffic(plan, task, executor.region_runs()));
  const auto arenas = executor.arena_bytes();
  const std::uint64_t arena_bytes = std::accumulate(arenas.begin(), arenas.end(), std::uint64_t{0});
  writer.add(run.wire.messages).add(run.wire.bytes).add(arena_bytes).add(planned_bytes);
  add_devices(writer, executor, plan, task);
  add(run.longest_run_plan->timer ? run.longest_run_plan->timer->times(run.links.links()) : WorkTimes(), writer);
  writer.add(run.times.count()).add(run.times.least()).add(run.times.median()).add(run.times.most());
  return writer.take();
}

}  // namespace

RunStats stats_of_all(const LastRun& run, int threads, JobMember& member) {
  return member.guarded([&] {
    if (run.longest_run_plan == nullptr)
      throw Error(Code::usage, "nothing has been run yet").hint("call run() before stats()");
    const auto all = member.exchange(packed(run, threads, member.task()));
    RunStats stats;
    stats.fingerprint = run.longest_run_plan->planned->fingerprint;
    std::vector<WorkTimes> times;
    for (std::size_t t = 0; t < all.size(); ++t) {
      BlobReader reader(all[t]);
      TaskStats task;
      task.task = static_cast<int>(t);
      task.process = member.cluster().processes[t];
      if (reader.empty()) {  // the task is lost
        times.emplace_back();
        stats.tasks.push_back(std::move(task));
        continue;
      }
      task.host = reader.text();
      task.threads = static_cast<int>(reader.number());
      task.measured = traffic(reader);
      task.planned = traffic(reader);
      task.wire_messages = reader.number();
      task.wire_bytes = reader.number();
      task.peak_bytes = static_cast<std::uint64_t>(reader.number());
      task.planned_peak_bytes = static_cast<std::uint64_t>(reader.number());
      task.devices = read_devices(reader);
      const WorkTimes& work = times.emplace_back(read_work_times(reader));
      task.computing_seconds = work.computing();
      task.waiting_seconds = work.waiting;
      if (t == 0) {
        stats.steps = reader.number();
        stats.min_seconds = reader.real();
        stats.median_seconds = reader.real();
        stats.max_seconds = reader.real();
      }
      stats.tasks.push_back(std::move(task));
    }
    stats.stragglers = judge_stragglers(times);
    stats.slow_links = judge_links(times);
    return stats;
  });
}

}  // namespace ferry

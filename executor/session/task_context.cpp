#include "executor/session/task_context.hpp"

#include "base/files/files.hpp"
#include "executor/job/affinity.hpp"

namespace ferry {
namespace {

WorkersOptions workers_of(int task, const JobState& cluster) {
  WorkersOptions options;
  options.threads = cluster.topology.tasks[task].threads;
  options.crowded = cluster.crowded;
  if (cluster.pins) options.on_start = [cores = *cluster.pins](int walker) { pin_to_core(cores, walker); };
  return options;
}

DeviceShare share_of(int task, const JobState& cluster) {
  const TaskInfo& info = cluster.topology.tasks[task];
  return {.task = task, .first = info.first_gpu, .count = info.gpus};
}

}  // namespace

TaskContext::TaskContext(int task, Transport& transport, const JobState& cluster, const SessionOptions& given)
    : member(task, transport, cluster),
      options(given),
      workers(workers_of(task, cluster)),
      variables(share_of(task, cluster), cluster.devices) {
  const ExecutionOptions& run = options.run;
  if (traces(run)) trace.emplace(task, workers.threads());
  if (!run.flight_recorder.empty()) recorder.emplace(task, workers.threads());
  if (!run.record_turns.empty() || !run.replay_turns.empty())
    turns.emplace(local_files(), run.record_turns, run.replay_turns, task);
  if (recorder && cluster.watch) cluster.watch->flights().set_source(task, *recorder);
}

TaskContext::~TaskContext() {
  if (recorder && member.cluster().watch) member.cluster().watch->flights().remove_source(*recorder);
}

}  // namespace ferry

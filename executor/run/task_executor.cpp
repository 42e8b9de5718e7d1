#include "executor/run/task_executor.hpp"

#include <deque>
#include <optional>
#include <utility>

#include "base/files/files.hpp"
#include "executor/observe/flight_recorder.hpp"
#include "executor/observe/instruction_text.hpp"
#include "executor/observe/trace.hpp"
#include "executor/run/turn_order.hpp"
#include "executor/run/walker.hpp"
#include "kernels/kernel.hpp"
#include "plan/variable_packing.hpp"

namespace ferry {

struct TaskExecutor::State {
  State(const Plan& plan, int task, Transport& transport, Workers& the_workers,
        const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options)
      : kernels(options.run.kernels != nullptr ? *options.run.kernels : cpu_kernels()),
        position(options.position),
        workers(the_workers),
        resolved(plan, task,
                 {.transport = transport,
                  .parallel = workers,
                  .kernels = kernels,
                  .device_kernels = options.device_kernels,
                  .devices = options.devices,
                  .files = options.files != nullptr ? options.files : &local_files(),
                  .run = options.run,
                  .effects = options.effects,
                  .variable = variable}),
        cancellation(workers, options.watch, task),
        ledger(transport, resolved.links()),
        waiting(resolved, transport, workers, ledger, cancellation,
                {.limit = options.limit, .position = options.position, .plan_id = options.plan_id}),
        checks(resolved),
        queues(resolved.queued()
                   ? std::optional<Queues>(std::in_place, resolved, *options.devices, *options.device_kernels,
                                           options.groups, options.run.sync_gpu, options.trace)
                   : std::nullopt),
        turns(plan.class_for(task).serving.turns.empty()
                  ? std::nullopt
                  : std::optional<TurnOrder>(std::in_place, resolved, transport, ledger, options.turns)),
        shared{.resolved = resolved,
               .transport = transport,
               .workers = workers,
               .kernels = kernels,
               .ledger = ledger,
               .waiting = waiting,
               .cancellation = cancellation,
               .queues = queues ? &*queues : nullptr,
               .turns = turns ? &*turns : nullptr,
               .checks = options.run.check_numerics ? &checks : nullptr,
               .trace = options.trace,
               .recorder = options.recorder,
               .timer = options.timer,
               .plan_id = options.plan_id,
               .progress = std::vector<Progress>(resolved.threads()),
               .feeds = {},
               .fetched = {}} {
    FERRY_ASSERT(resolved.threads() <= static_cast<std::size_t>(workers.threads()), "the plan has more threads");
    for (std::size_t thread = 0; thread < resolved.threads(); ++thread) walkers.emplace_back(shared, thread);
  }

  /// Runs the setup, or only its instructions that pack variables if the rest has run.
  void set_up() {
    if (!std::exchange(is_set_up, true)) {
      run(0, -1);
    } else if (repacks) {
      workers.run_alone(
          [this] { walkers[0].run_packing(variable_packing(resolved.plan().class_for(resolved.task())).count); });
      cancellation.rethrow();
    }
    repacks = false;
  }

  /// Runs a region on all threads, in the setup (step -1) or in a step.
  void run(std::uint32_t which, std::int64_t step) {
    region = which;
    const TimePoint begin = shared.trace != nullptr ? system_clock().now() : TimePoint();
    for (Walker& walker : walkers) walker.begin();
    if (queues) queues->clear_given();
    if (resolved.links() > 0) workers.on_chunk([this] { ledger.poll_quietly(); });
    if (resolved.is_single_threaded()) {
      workers.run_alone([this] { walkers[0].run(region); });
    } else {
      for (Progress& p : shared.progress) p.done.store(0, std::memory_order_relaxed);
      workers.run(on_walker);
    }
    if (resolved.links() > 0) workers.on_chunk({});
    if (queues && cancellation.stopping()) queues->abandon();
    cancellation.rethrow();
    add_up();
    if (shared.trace != nullptr)
      shared.trace->add_step(resolved.plan(), step, begin, system_clock().now(), region_runs);
  }

  void add_up() {
    measured = {};
    region_runs.assign(walkers[0].region_runs().begin(), walkers[0].region_runs().end());
    for (const Walker& walker : walkers) {
      measured += walker.moved();
      for (std::size_t r = 2; r < region_runs.size() && &walker != &walkers[0]; ++r)
        region_runs[r] += walker.region_runs()[r];
    }
  }

  const KernelTable& kernels;
  Position* const position;
  Workers& workers;
  ResolvedPlan resolved;
  Cancellation cancellation;
  Ledger ledger;
  Waiting waiting;
  NumberChecks checks;
  std::optional<Queues> queues;
  std::optional<TurnOrder> turns;  ///< if the task serves workers
  SharedWalk shared;
  std::deque<Walker> walkers;
  bool is_set_up = false;
  bool repacks = false;  ///< variables must be packed again
  RegionId region = 0;   ///< the region that all threads run
  Traffic measured;
  std::vector<std::int64_t> region_runs;
  const std::function<void(int)> on_walker = [this](int walker) {
    if (static_cast<std::size_t>(walker) < walkers.size()) walkers[walker].run(region);
  };
};

TaskExecutor::TaskExecutor(const Plan& plan, int task, Transport& transport, Workers& workers,
                           const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options)
    : state_(std::make_unique<State>(plan, task, transport, workers, variable, options)) {}

TaskExecutor::~TaskExecutor() = default;

void TaskExecutor::step(std::int64_t step, std::span<const Tensor> feeds, std::span<Tensor> fetched,
                        std::int64_t following) {
  if (state_->turns) state_->turns->begin_step(step, following);
  if (state_->queues) state_->queues->before_number_write(state_->resolved.step());
  state_->resolved.begin_step(step);
  if (state_->position != nullptr) state_->position->begins_step();
  if (state_->shared.recorder != nullptr) state_->shared.recorder->begins_step(step);
  state_->checks.begin_step(step);
  state_->shared.feeds = feeds;
  state_->shared.fetched = fetched;
  state_->set_up();
  state_->run(1, step);
}

void TaskExecutor::pack_variables_again() {
  state_->repacks = true;
}

std::uint64_t TaskExecutor::progress_tag() const {
  std::uint64_t progress_tag = 0;
  for (const Walker& walker : state_->walkers) progress_tag = progress_tag * 31 + walker.progress_tag();
  return progress_tag;
}

std::optional<std::string> TaskExecutor::computes(bool first_waits) const {
  for (const Walker& walker : state_->walkers)
    if (const Instruction* at = walker.computes(); at != nullptr && !(first_waits && &walker == &state_->walkers[0]))
      return instruction_text(state_->resolved.plan(), *at, state_->resolved.task());
  return std::nullopt;
}

const Traffic& TaskExecutor::measured() const {
  return state_->measured;
}

std::span<const std::int64_t> TaskExecutor::region_runs() const {
  return state_->region_runs;
}

std::span<const DeviceWork> TaskExecutor::device_work() const {
  return state_->queues ? state_->queues->given() : std::span<const DeviceWork>();
}

std::span<const std::uint64_t> TaskExecutor::arena_bytes() const {
  return state_->resolved.arena_bytes();
}

}  // namespace ferry

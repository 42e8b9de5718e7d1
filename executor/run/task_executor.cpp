#include "executor/run/task_executor.hpp"

#include <deque>
#include <utility>

#include "base/files/files.hpp"
#include "executor/run/walker.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

struct TaskExecutor::State {
  State(const Plan& plan, int task, Transport& transport, Workers& the_workers,
        const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options)
      : kernels(options.kernels != nullptr ? *options.kernels : cpu_kernels()),
        workers(the_workers),
        resolved(plan, task,
                 {.transport = transport,
                  .parallel = workers,
                  .kernels = kernels,
                  .files = options.files != nullptr ? options.files : &local_files(),
                  .data_folder = options.data_folder,
                  .seed = options.seed,
                  .effects = options.effects,
                  .variable = variable}),
        cancellation(workers),
        ledger(transport, resolved.links()),
        waiting(resolved, transport, workers, ledger, cancellation, options.deadline),
        checks(resolved),
        shared{.resolved = resolved,
               .transport = transport,
               .workers = workers,
               .kernels = kernels,
               .ledger = ledger,
               .waiting = waiting,
               .cancellation = cancellation,
               .checks = options.check_numerics ? &checks : nullptr,
               .trace = options.trace,
               .plan_id = options.plan_id,
               .progress = std::vector<Progress>(resolved.threads()),
               .feeds = {},
               .fetched = {}} {
    FERRY_ASSERT(resolved.threads() <= static_cast<std::size_t>(workers.threads()), "the plan has more threads");
    for (std::size_t thread = 0; thread < resolved.threads(); ++thread) walkers.emplace_back(shared, thread);
  }

  /// Runs the region on all threads.
  void run(std::uint32_t which) {
    region = which;
    for (Walker& walker : walkers) walker.begin();
    if (resolved.links() > 0) workers.on_chunk([this] { ledger.poll_quietly(); });
    if (resolved.single()) {
      workers.run_alone([this] { walkers[0].run(region); });
    } else {
      for (Progress& p : shared.progress) p.done.store(0, std::memory_order_relaxed);
      workers.run(on_walker);
    }
    if (resolved.links() > 0) workers.on_chunk({});
    cancellation.rethrow();
    add_up();
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
  Workers& workers;
  ResolvedPlan resolved;
  Cancellation cancellation;
  Ledger ledger;
  Waiting waiting;
  NumberChecks checks;
  SharedWalk shared;
  std::deque<Walker> walkers;
  bool set_up = false;
  std::uint32_t region = 0;  ///< that all threads walk
  Traffic measured;
  std::vector<std::int64_t> region_runs;
  const std::function<void(int)> on_walker = [this](int walker) {
    if (static_cast<std::size_t>(walker) < walkers.size()) walkers[static_cast<std::size_t>(walker)].run(region);
  };
};

TaskExecutor::TaskExecutor(const Plan& plan, int task, Transport& transport, Workers& workers,
                           const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options)
    : state_(std::make_unique<State>(plan, task, transport, workers, variable, options)) {}

TaskExecutor::~TaskExecutor() = default;

void TaskExecutor::step(std::int64_t step, std::span<const Tensor> feeds, std::span<Tensor> fetched) {
  state_->resolved.begin_step(step);
  state_->checks.begin_step(step);
  state_->shared.feeds = feeds;
  state_->shared.fetched = fetched;
  if (!std::exchange(state_->set_up, true)) state_->run(0);
  state_->run(1);
}

const Traffic& TaskExecutor::measured() const {
  return state_->measured;
}

std::span<const std::int64_t> TaskExecutor::region_runs() const {
  return state_->region_runs;
}

std::uint64_t TaskExecutor::arena_bytes() const {
  return state_->resolved.arena_bytes();
}

}  // namespace ferry

// Walker: one thread of a task, which runs the instructions that the plan gives it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "executor/run/cancellation.hpp"
#include "executor/run/ledger.hpp"
#include "executor/run/loop_watch.hpp"
#include "executor/run/number_checks.hpp"
#include "executor/run/queues.hpp"
#include "executor/run/resolved.hpp"
#include "executor/run/turn_order.hpp"
#include "executor/run/waiting.hpp"
#include "executor/run/workers.hpp"
#include "graph/types/tensor.hpp"

namespace ferry {

class FlightRecorder;
class Trace;
class WorkTimer;

/// How many instructions of the setup or step a walker has done, as last published; on a cache line of its own.
struct alignas(64) Progress {
  std::atomic<std::uint32_t> done{0};
};

/// The data that the walkers of a task share.
struct SharedWalk {
  ResolvedPlan& resolved;
  Transport& transport;
  Workers& workers;
  const KernelTable& kernels;
  Ledger& ledger;
  Waiting& waiting;
  Cancellation& cancellation;
  Queues* queues = nullptr;            ///< null: the task uses no queues
  TurnOrder* turns = nullptr;          ///< null: the task serves no workers
  NumberChecks* checks = nullptr;      ///< null: numbers are not checked
  Trace* trace = nullptr;              ///< null: nothing is traced
  FlightRecorder* recorder = nullptr;  ///< null: nothing is recorded
  WorkTimer* timer = nullptr;          ///< null: no step is timed
  std::uint64_t plan_id = 0;           ///< identifies the plan in traces
  std::vector<Progress> progress;      ///< by walker
  std::span<const Tensor> feeds;
  std::span<Tensor> fetched;
};

/// Aligned, so that no two walkers write to the same cache line.
class alignas(64) Walker {
 public:
  Walker(SharedWalk& shared, std::size_t thread)
      : shared_(shared), resolved_(shared.resolved), thread_(thread), region_runs_(shared.resolved.regions()) {}

  /// Resets the counters; called before each run().
  void begin();
  /// Runs the thread's instructions of the region and of those nested in it. Failures are reported to the Cancellation.
  void run(RegionId region);
  /// Runs the last `count` instructions of the setup, which read nothing but variables. Only walker 0 may call it.
  void run_packing(std::uint32_t count);

  /// The walker's position; any thread may call these. progress_tag(): a number that changes with each instruction.
  /// computes(): the instruction; null if the walker waits for other walkers or runs nothing.
  [[nodiscard]] std::uint64_t progress_tag() const {
    return reinterpret_cast<std::uintptr_t>(current_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] const Instruction* computes() const {
    const Resolved* at = current_.load(std::memory_order_relaxed);
    return at == nullptr || awaits_.load(std::memory_order_relaxed) ? nullptr : at->plan;
  }

  /// The messages and copies since begin().
  [[nodiscard]] const Traffic& moved() const { return moved_; }
  /// How often each region was run since begin().
  [[nodiscard]] std::span<const std::int64_t> region_runs() const { return region_runs_; }

 private:
  template <class F>
  void run_reported(const F& instructions);
  void at(const Resolved* r) { current_.store(r, std::memory_order_relaxed); }
  [[nodiscard]] const Resolved& current() const { return *current_.load(std::memory_order_relaxed); }
  void walk(RegionId region) { walk(region, region); }
  /// Runs `list`, which has the instructions of the region (ResolvedPlan::list).
  void walk(RegionId region, std::uint32_t list);
  /// `part`: a range of the thread's instructions in the list.
  void walk_part(std::uint32_t list, Range part);
  void walk_watched(std::uint32_t list, Range part);
  void serve();
  std::optional<TurnOrder::Turn> await(TurnOrder& order);
  void walk_queues(RegionId region);
  void execute(Resolved& r);
  void perform(Resolved& r);
  void place_output(const Resolved& r);
  void run_kernel(Resolved& r);
  static void run_epilogue(const Resolved& r);
  void loop(const Resolved& r);
  void check_loop(const Resolved& r, std::int64_t iteration);
  void feed(const Resolved& r);
  void fetch(const Resolved& r);
  [[nodiscard]] const std::vector<std::int64_t>& sizes_here(const PlanPort& port, const Resolved& r) const;
  void await(const Resolved& r);
  void fail(const FailedWork& failed);
  void fail(const std::exception_ptr& thrown, const Instruction& instruction);

  SharedWalk& shared_;
  ResolvedPlan& resolved_;
  const std::size_t thread_;
  std::atomic<const Resolved*> current_{nullptr};  ///< null while it runs nothing; any thread may read it
  std::atomic<bool> awaits_{false};                ///< it waits for other walkers
  std::size_t loops_ = 0;                          ///< number of loops around the current instruction
  LoopWatch watch_;
  Traffic moved_;
  std::vector<std::int64_t> region_runs_;
};

}  // namespace ferry

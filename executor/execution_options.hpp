// ExecutionOptions: the user's options for running plans.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

class KernelTable;
class OpSet;

/// The options of a session for running its plans. They must be the same on all tasks where a member says so.
///
///     Session session(g, cluster, {.run = {.seed = 7, .data_folder = "data", .check_numerics = true}});
struct ExecutionOptions {
  std::uint64_t seed = 0;        ///< of random numbers and of the order of data; the same on all tasks
  std::string data_folder = {};  ///< the only folder that the graph's data ops may read; empty: none
  /// Checks every number that an op computes. If a result is NaN or Inf although the op's inputs were not, the job ends
  /// with Error(numeric), which names the op, its line and the step. Ops then run one by one (as with fuse_from = 0).
  /// Must be the same on all tasks.
  bool check_numerics = false;
  /// The number of steps between comparisons of variables: tasks that have the same part of a variable compare its
  /// bytes, by a hash of each part. If they differ, the job ends with Error(numeric), which names the variable, the
  /// tasks and the step. 0: no comparisons. Must be the same on all tasks.
  std::int64_t check_replicas = 0;
  /// The memory limit, in bytes, of the plans that each task keeps after it has run them, including the working memory
  /// of their steps. There is a plan for each request and each shape of the feeds. Above the limit the task drops the
  /// least recently used plan, and makes it again when it is needed; it always keeps the newest 8. Must be the same on
  /// all tasks.
  std::uint64_t plan_cache_bytes = std::uint64_t{512} << 20;
  /// Elementwise ops that run together on the CPU are compiled into one loop after they have done this work, counted in
  /// elements times ops. The results are the same. The default is about 5 ms of work, where compiling takes about 20
  /// ms. 0: before the first step that has them; below 0: never. No effect without the plug-in for LLVM.
  std::int64_t compile_after = std::int64_t{1} << 26;
  /// Waits for each operation of a device before it starts the next one. An error of the device then names the op that
  /// failed; without sync_gpu, a GPU may report the error at a later op. No effect without devices.
  bool sync_gpu = false;
  /// Null: the CPU kernels; else a copy of cpu_kernels() with your own kernels added, which must outlive the session.
  const KernelTable* kernels = nullptr;
  /// Null: ferry's ops; else a copy of default_ops() with your own ops added, which must outlive the session. ferry
  /// uses it to check the arguments of your kernels; it cannot check ops that are missing here.
  const OpSet* ops = nullptr;
  /// The file for the flight record: the last instructions of each task. The first live process writes it after the
  /// session has failed. Empty: nothing is recorded. Error(file) if its folder does not exist. Recording costs about 25
  /// ns per instruction.
  std::string flight_recorder = {};
  /// The name FILE of the records of turns. Each task that serves workers (ops/train/asynchronous.hpp) writes the order
  /// of its turns to FILE.TASK. Empty: no record.
  std::string record_turns = {};
  /// The record_turns of an earlier run: the turns come in the recorded order, so that a run with as many steps gives
  /// the same bits. Error(usage) for a run with checkpoints, because the turn at which tasks meet for a checkpoint
  /// differs from run to run.
  std::string replay_turns = {};
  /// File for a Chrome trace of all tasks, which task 0 writes when the session closes. Set it in all processes or in
  /// none.
  std::string trace_file = {};
  /// Called with that trace in the process of task 0 when the session closes. Set it in all processes or in none.
  std::function<void(std::string_view trace)> on_trace = {};
};

}  // namespace ferry
#pragma GCC visibility pop

// ExecutionOptions: how the user wants plans to be run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

class KernelTable;
class OpSet;

struct ExecutionOptions {
  std::uint64_t seed = 0;        ///< of random numbers and of the order of data; the same on all tasks
  std::string data_folder = {};  ///< the only folder that the graph's data ops may read; empty: none
  /// Checks every number that an op makes. If one is NaN or Inf though the op's inputs were not, the job ends with
  /// Error(numeric), which names the op, its line and the step. Ops then run one by one (as with fuse_from = 0). The
  /// same on all tasks.
  bool check_numerics = false;
  /// The number of steps between comparisons of variables: tasks that have the same part of a variable compare its
  /// bytes, by a hash of each part. If they differ, the job ends with Error(numeric), which names the variable, the
  /// tasks and the step. 0: no comparisons. The same on all tasks.
  std::int64_t check_replicas = 0;
  /// The most memory that each task keeps for plans that it has run, with what their steps work in, in bytes. There is
  /// a plan for each request and each shape of the feeds. Beyond it the task gives up the plan that it has used least
  /// recently, and makes it again when it is needed; it always keeps the newest 8. The same on all tasks.
  std::uint64_t plan_cache_bytes = std::uint64_t{512} << 20;
  /// Waits for each piece of work that a device is given before the next is given, so that the error of a device that
  /// fails names the op at which it failed: GPUs may say so at a later one. Does nothing where there are hosts alone.
  bool sync_gpu = false;
  /// Null: the CPU's; else a copy of cpu_kernels() with your own added, which must outlive the session.
  const KernelTable* kernels = nullptr;
  /// Null: ferry's ops; else a copy of default_ops() with your own added, which must outlive the session. Used to check
  /// what your kernels are given; ops that are missing here cannot be checked.
  const OpSet* ops = nullptr;
  /// The file for the last instructions of each task. The first live process writes it after the session has failed.
  /// Empty: nothing is recorded. Error(file) unless its folder is there. Recording costs some 25 ns an instruction.
  std::string flight_recorder = {};
  /// Where each task that serves workers (ops/train/asynchronous.hpp) writes the order of its turns, as FILE.TASK;
  /// empty: nowhere.
  std::string record_turns = {};
  /// Of a run with record_turns: the turns come in that order, so that a run with as many steps gives the same bits.
  /// Error(usage) for a run with checkpoints: where tasks meet for these differs from run to run.
  std::string replay_turns = {};
  /// Chrome trace of all tasks, written by task 0 when the session closes; given in all processes or in none.
  std::string trace_file = {};
  /// Called with that trace in the process of task 0 when the session closes; given in all processes or in none.
  std::function<void(std::string_view trace)> on_trace = {};
};

}  // namespace ferry
#pragma GCC visibility pop

// StepEstimate: the planned time of a step, and the work from which this time is computed.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "graph/op/op_def.hpp"
#include "graph/types/device_spec.hpp"
#include "plan/schedule/schedule.hpp"
#include "plan/topology/topology.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A kernel, a message, a copy, or an op without a kernel for which other work waits.
struct StepWork {
  /// A kernel of the task with the largest part of the op.
  struct Kernel {
    OpWork work;  ///< without the memory traffic of values that fusing keeps in the cache
    DeviceKind device = DeviceKind::cpu;
    int threads = 1;
  };
  struct Message {
    bool is_collective = false;  ///< else a transfer from one task to another
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::int64_t members = 2;  ///< members of one group
    /// More than 1: an all-reduce, reduce or broadcast over this many hosts with the same number of members each. It
    /// works first within the hosts, then between them.
    std::int64_t hosts = 1;
    std::int64_t given = 0, got = 0;  ///< the bytes of one member's values before and after the message
    bool between_hosts = false;
    LinkCost link = {};
    LinkCost within_host = {};  ///< if there are several hosts
  };
  /// A copy of a value between a host and one of its GPUs, or between GPUs of one task.
  struct Copy {
    std::int64_t bytes = 0;
    LinkCost link = {};
  };
  using Part = std::variant<std::monostate, Kernel, Message, Copy>;

  std::string name;  ///< name of the op, or of the value that is moved
  std::string what;  ///< "MatMul", "all_reduce", "transfer", "copy to the GPU", "copy to the host"
  SourceLine line;
  std::vector<std::uint32_t> groups;  ///< groups of tasks that take part: indices into StepEstimate::groups
  std::vector<std::uint32_t> after;   ///< earlier work with results that it needs: indices into StepEstimate::work
  std::int64_t runs = 1;              ///< number of runs in a step: more than one in the body of a loop
  Part part;
  double seconds = 0;  ///< seconds of all runs together
};

/// The planned time of a step (placement/choose/judge.hpp).
struct StepEstimate {
  double step_seconds = 0;       ///< time until the last task has done its work
  double computing_seconds = 0;  ///< computing time of the task that computes the longest
  /// Time of messages and copies, of the task where it is the longest; tasks may compute while others send.
  double message_seconds = 0;
  std::vector<std::vector<std::int32_t>> groups;  ///< sets of tasks that take part in the same work
  std::vector<StepWork> work;                     ///< in the order in which tasks run it
};

}  // namespace ferry
#pragma GCC visibility pop

// Backends: how Cluster::connect gets its transports. Each is one factory function; one that this build lacks throws
// Error(usage) saying so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.hpp"

namespace ferry {

struct MpiOptions {
  std::int64_t chunk_bytes = std::int64_t{1} << 30;  ///< longer messages are sent in pieces; at most 2^31 - 1
  int threads = 1;                                   ///< of this task; more of them on a host than cores: sleep sooner
  std::chrono::milliseconds deadline{60000};         ///< for all tasks to come
};

/// This build can use MPI.
[[nodiscard]] bool mpi_built();
/// The MPI library's name and version, "Open MPI v4.1.4"; "" without MPI. Does not start MPI.
[[nodiscard]] std::string mpi_version();

/// What the launcher (mpirun, srun) says of this process in its environment, without starting MPI.
struct MpiLaunch {
  int rank = 0;
  int size = 1;
  std::string by;  ///< the variable that told the size
};
/// Nothing when no MPI launcher started this process. Error(usage) when the launcher's variables are no numbers, or one
/// of a pair is missing, naming it.
[[nodiscard]] std::optional<MpiLaunch> mpi_launch();
/// From now on mpi_launch() says what it says now. For who is about to initialize MPI: in a process that no launcher
/// started that sets some of these variables itself. Errors as mpi_launch(). Not while another thread asks.
void keep_mpi_launch();

/// This process's end of the job that the launcher started; one task if there was none. Starts MPI with
/// MPI_THREAD_FUNNELED unless it runs already; only then it is also ended, when the process exits. All tasks call it
/// together, as often as they like. Used from the calling thread only. Error(usage) without MPI, Error(stalled) when
/// the others do not come.
[[nodiscard]] std::unique_ptr<Transport> mpi_transport(const MpiOptions& options = {});

/// `inner`, with the messages between tasks of one host in memory that they share (comm/shm); two tasks that cannot
/// open each other's memory talk over `inner`, and so does everything else. All tasks call it together; `threads`: of
/// this task, as in MpiOptions. Used as `inner` is, from the calling thread only. Error(resource) when the memory for
/// the messages is not there, Error(stalled) when the others do not come.
[[nodiscard]] std::unique_ptr<Transport> shared_memory_transport(std::unique_ptr<Transport> inner, int threads,
                                                                 std::chrono::milliseconds deadline);

/// Several tasks of a job in each of its processes: what their transports need of the thread that may use the one
/// between the processes. Tasks of one process meet in memory (comm/inproc), those of different processes over that
/// transport. Made by host_tasks(); destroyed before the ends, which it makes fail unless all have been closed.
///
///     auto [ends, relay] = host_tasks(mpi_transport(), 8);
///     // … a thread for each end, then on this one:
///     relay->serve([&] { return all_threads_are_done(); });
///
/// All but wake() on the thread that made the transport between the processes.
class HostRelay {
 public:
  virtual ~HostRelay() = default;
  /// Error(usage) on a thread that may not serve.
  virtual void check_thread() const = 0;
  /// Carries messages, exchanges and failures between the processes until `until` is true; the ends are used on other
  /// threads meanwhile, never on this one. Throws nothing: what fails between the processes fails the job.
  virtual void serve(const std::function<bool()>& until) = 0;
  /// Lets serve() look at `until` again. From any thread.
  virtual void wake() noexcept = 0;
  /// Returns when all processes have come; not while tasks run. Error(stalled) names the tasks of those that did not.
  virtual void meet(const Deadline& deadline) = 0;
};

struct HostedTasks {
  std::vector<std::unique_ptr<Transport>> ends;  ///< of this process's tasks; any thread may use them
  std::unique_ptr<HostRelay> relay;
};

/// A job of `tasks` tasks over the processes that `between` joins, at most as many: each process has a block of tasks,
/// task t being in process floor(t * processes / tasks). All processes call it together.
[[nodiscard]] HostedTasks host_tasks(std::unique_ptr<Transport> between, int tasks);
/// The process of `processes` that has `task`, and the first task of a process.
[[nodiscard]] int process_of_task(int task, int tasks, int processes);
[[nodiscard]] int first_task_of(int process, int tasks, int processes);

/// What the exit of the process does, for those who end it without (a handler of std::terminate, before std::_Exit):
/// parts from all jobs over MPI, which fail with `code` and `why` unless they were closed, and finalizes MPI if ferry
/// started it. Waits a few seconds at most for tasks that do not answer. Does nothing where MPI does not run or is not
/// ferry's to call.
void leave_mpi(Code code, std::string_view why) noexcept;

}  // namespace ferry

// Backends: how Cluster::connect gets its transports. Each is one factory function; if this build lacks the backend, it
// throws an Error(usage) that says so.
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

#pragma GCC visibility push(default)
namespace ferry {

struct MpiOptions {
  std::int64_t chunk_bytes = std::int64_t{1} << 30;  ///< longer messages are sent in pieces; at most 2^31 - 1
  int threads = 1;  ///< of this task; where a host has more threads than cores, waiting tasks sleep sooner
  std::chrono::milliseconds deadline{60000};  ///< for all tasks to join the job
};

/// The binary interfaces that MPI libraries have: Open MPI 4 and 5; MPICH, Intel MPI and MPIs that derive from them;
/// and the ABI of the MPI 5.0 standard. Each has a plug-in of ferry's, libferry_mpi_NAME.so.
enum class MpiAbi { openmpi, mpich, standard };

/// The MPI that this process uses, or would use.
struct MpiFound {
  std::string version = {};             ///< "Open MPI v4.1.4"; empty: there is no MPI that ferry can use
  std::string abi = {};                 ///< "openmpi", "mpich" or "standard"
  std::string library = {};             ///< the library's file; empty: the program has MPI itself
  std::string reason = {};              ///< why it is this one
  std::vector<std::string> tried = {};  ///< for each library that was tried in vain, why
};
/// Looks for an MPI without starting it: the MPI that the process has loaded; else what FERRY_MPI names (openmpi,
/// mpich, standard, or the path of a library); else the MPI of the launcher that started this process; else any. Once
/// one is found, the process keeps it. Error(usage) for two loaded libraries and for a wrong FERRY_MPI. From any
/// thread.
[[nodiscard]] MpiFound find_mpi();
/// For people: of each ABI but `abi`, the library that is here, or the libraries that are missing: "mpich by
/// libmpich.so.12", "no standard (libmpi_abi.so.1)". It loads each library for a moment, so it is for diagnostics only.
[[nodiscard]] std::vector<std::string> other_mpis(std::string_view abi);

/// What the launcher (mpirun, srun) says of this process in its environment, without starting MPI.
struct MpiLaunch {
  int rank = 0;
  int size = 1;
  std::string by;  ///< the environment variable that gave the size
};
/// Nothing when no MPI launcher started this process. Error(usage), naming the variable, when a launcher's variable is
/// not a number or one of the pair is missing.
[[nodiscard]] std::optional<MpiLaunch> mpi_launch();
/// mpi_launch(), or what srun says where it knows of no MPI: enough to number processes, not to start MPI. Nothing in a
/// shell that srun --pty gave to the user. Errors as mpi_launch().
[[nodiscard]] std::optional<MpiLaunch> numbered_launch();
/// Makes mpi_launch() return its present result for the rest of the process. Call it before initializing MPI, because
/// MPI sets some of these variables itself in a process that no launcher started. Errors as mpi_launch(). Not while
/// another thread calls either function.
void keep_mpi_launch();

/// This process's end of the job that the launcher started; without a launcher, of a job of one task. Starts MPI with
/// MPI_THREAD_FUNNELED unless it runs already; MPI that was started here is finalized when the process exits. All tasks
/// call it together, as often as they like. The transport is used from the calling thread only. Error(usage) without
/// MPI and where the launcher started another number of tasks than MPI's world has, Error(stalled) when the others do
/// not come.
[[nodiscard]] std::unique_ptr<Transport> mpi_transport(const MpiOptions& options = {});

/// This rank's end of a job; the ranks of a communicator are its tasks. `communicator` points to the program's
/// MPI_Comm, and `abi` belongs to its <mpi.h>: <ferry/mpi.hpp> passes both. The job uses duplicates of the
/// communicator, so that no message of the program can match a receive of ferry's. All ranks call it together.
/// Error(usage) unless MPI runs and the communicator has one group: MPI_COMM_NULL and intercommunicators are refused.
/// Error(stalled) when not all ranks come.
[[nodiscard]] std::unique_ptr<Transport> mpi_transport_over(const void* communicator, MpiAbi abi,
                                                            const MpiOptions& options = {});

/// Where the tasks of a job over TCP meet by the process manager interface (PMI) of their launcher: the mpiexec of
/// MPICH or Intel MPI, or srun --mpi=pmi2. They need no MPI library, no address and no secret.
inline constexpr const char* kPmiPlace = "pmi:";
/// Whether the launcher of this process offers PMI.
[[nodiscard]] bool pmi_offered();

/// How a task joins a job over TCP.
struct TcpOptions {
  int task = 0, tasks = 1;
  std::string rendezvous = {};  ///< where task 0 puts up its address: FERRY_RENDEZVOUS or kPmiPlace; empty: it is known
  std::string address = "127.0.0.1";  ///< of the rendezvous
  int port = 0;
  bool served = false;         ///< a RendezvousServer is there or in the notice already; else task 0 makes one
  std::string interface = {};  ///< where this task listens, by name or address; empty: where it reaches the rendezvous
  std::string secret = {};     ///< the same for all tasks; may be empty on loopback only
  int threads = 1;             ///< of this task; where a host has more threads than cores, waiting tasks sleep sooner
  std::chrono::milliseconds deadline{60000};  ///< for all tasks to join the job, and for a cut link to come back
};

/// What a launcher says of this process in RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, FERRY_RENDEZVOUS_SERVED,
/// FERRY_INTERFACE and FERRY_SECRET: the first four are torchrun's. FERRY_RENDEZVOUS, "file:/FOLDER/NAME" or
/// "redis://[:PASSWORD@]HOST[:PORT]/KEY", stands for MASTER_ADDR and MASTER_PORT where nobody knows them. Nothing when
/// RANK, WORLD_SIZE or both are missing with no other of the four set. Where neither is set, `numbers`, if given, has
/// their values. Error(usage) names the variable when one of them is missing, is no number or no such text, or when
/// both ways are given.
[[nodiscard]] std::optional<TcpOptions> tcp_launch(const std::optional<MpiLaunch>& numbers = std::nullopt);

/// This task's end of a job over TCP. All tasks call it. It listens on one address, until all are connected. Each pair
/// of tasks proves to each other that it knows the secret. Messages are not encrypted. The transport is used from the
/// calling thread only. Error(usage) when the job cannot be: no secret, another one, a number twice, an address that is
/// not there, a port in use, a place for the notice that cannot be used. Error(stalled) naming the tasks that do not
/// come, Error(peer_lost) when one ends, Error(resource) for too few descriptors.
[[nodiscard]] std::unique_ptr<Transport> tcp_transport(const TcpOptions& options);

/// For callers that end the process without destroying its transports, and have printed `why`: tells the others that
/// this task's jobs over TCP have failed with `code` and `why`. Does nothing for jobs of other threads.
void leave_tcp(Code code, std::string_view why) noexcept;

/// `inner`, except that messages between tasks of one host go through memory that they share (comm/shm). Everything
/// else goes over `inner`, also the messages of tasks that cannot open each other's memory. All tasks call it together;
/// `threads` as in MpiOptions. The transport is used from the calling thread only. Error(resource) when there is not
/// enough memory for the messages, Error(stalled) when the others do not come.
[[nodiscard]] std::unique_ptr<Transport> shared_memory_transport(std::unique_ptr<Transport> inner, int threads,
                                                                 std::chrono::milliseconds deadline);

/// Carries messages between processes that run several tasks each. Tasks of one process exchange messages in memory
/// (comm/inproc); tasks of different processes share one transport between the processes, and only one thread may use
/// it. That thread calls serve(). Made by host_tasks(). Destroy it before the ends; it fails their job unless all of
/// them have been closed.
///
///     auto [ends, relay] = host_tasks(mpi_transport(), 8);
///     // … a thread for each end, then on this one:
///     relay->serve([&] { return all_threads_are_done(); });
///
/// Call all functions but wake() on the thread that made the transport between the processes.
class HostRelay {
 public:
  virtual ~HostRelay() = default;
  /// Error(usage) on a thread that may not call serve().
  virtual void check_thread() const = 0;
  /// Carries messages, exchanges and failures between the processes until `until` is true; the ends are used on other
  /// threads meanwhile, never on this one. Throws nothing: what fails between the processes fails the job.
  virtual void serve(const std::function<bool()>& until) = 0;
  /// Makes serve() look at `until` again. From any thread.
  virtual void wake() noexcept = 0;
  /// The texts `mine` of all processes, which all call it; not to be called while tasks run. Error(stalled) names the
  /// tasks of the processes that did not call it.
  [[nodiscard]] virtual std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) = 0;
};

struct HostedTasks {
  std::vector<std::unique_ptr<Transport>> ends;  ///< of this process's tasks; any thread may use them
  std::unique_ptr<HostRelay> relay;
};

/// A job of `tasks` tasks in the processes that `between` connects; there are at most `tasks` processes. Each process
/// has consecutive tasks: task t is in process floor(t * processes / tasks). All processes call it together.
[[nodiscard]] HostedTasks host_tasks(std::unique_ptr<Transport> between, int tasks);
/// Which of the `processes` has `task`, and the first task of a process.
[[nodiscard]] int process_of_task(int task, int tasks, int processes);
[[nodiscard]] int first_task_of(int process, int tasks, int processes);

/// Does the work of the exit handlers, for callers that end the process without them (such as a handler of
/// std::terminate, before std::_Exit) and have printed `why`. It leaves all jobs over MPI; they fail with `code` and
/// `why` unless they were closed. It finalizes MPI if ferry started it. Waits a few seconds at most for the tasks of
/// failed jobs, and without limit for the tasks of closed jobs. Does nothing where MPI does not run or this thread must
/// not call it.
void leave_mpi(Code code, std::string_view why) noexcept;

}  // namespace ferry
#pragma GCC visibility pop

// Backends: the transports of Cluster::connect. Each backend is one factory function, which throws Error(usage) if this
// build lacks the backend.
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
  int threads = 1;  ///< of this task; if a host has more threads than cores, waiting tasks sleep sooner
  std::chrono::milliseconds deadline{60000};  ///< for all tasks to join the job
};

/// The binary interfaces that MPI libraries have: Open MPI 4 and 5; MPICH, Intel MPI and MPIs that derive from them;
/// and the ABI of the MPI 5.0 standard. ferry has a plug-in for each, libferry_mpi_NAME.so.
enum class MpiAbi { openmpi, mpich, standard };

/// The MPI that this process uses, or would use.
struct MpiFound {
  std::string version = {};             ///< "Open MPI v4.1.4"; empty: there is no MPI that ferry can use
  std::string abi = {};                 ///< "openmpi", "mpich" or "standard"
  std::string library = {};             ///< the library's file; empty: the program has MPI itself
  std::string reason = {};              ///< why ferry chooses this MPI
  std::vector<std::string> tried = {};  ///< for each library that could not be used, the reason
  std::string package = {};             ///< if there is none: the Debian package to install; empty: none is known
};
/// Looks for an MPI without starting it: the MPI that the process has loaded; else the MPI that FERRY_MPI names
/// (openmpi, mpich, standard, or the path of a library); else the MPI of the launcher that started this process; else
/// any MPI. After an MPI is found, later calls return the same MPI. Error(usage) for two loaded libraries, for a
/// wrong FERRY_MPI, and if FERRY_MPI contradicts the launcher. Thread-safe.
[[nodiscard]] MpiFound find_mpi();
/// Whether the process has loaded an MPI library, for example because the program is linked to it. Errors as
/// find_mpi().
[[nodiscard]] bool program_has_mpi();
/// Describes, for each ABI except `abi`, the installed library or the missing libraries: "mpich by libmpich.so.12", "no
/// standard (libmpi_abi.so.1)". It loads each library for a moment, so use it only for diagnostics.
[[nodiscard]] std::vector<std::string> other_mpis(std::string_view abi);

/// The rank and size that the launcher (mpirun, srun) sets in this process's environment.
struct MpiLaunch {
  int rank = 0;
  int size = 1;
  std::string by;  ///< the environment variable that has the size
};
/// Reads the launcher's variables, without starting MPI. Nothing if no MPI launcher started this process. Error(usage),
/// which names the variable, if rank or size is missing or not a number.
[[nodiscard]] std::optional<MpiLaunch> mpi_launch();
/// Like mpi_launch(), but also accepts the variables of an srun without support for MPI. They suffice to number
/// processes, but not to start MPI. Nothing in an interactive shell of srun --pty. Errors as mpi_launch().
[[nodiscard]] std::optional<MpiLaunch> numbered_launch();
/// Makes mpi_launch() return its present result for the rest of the process. Call it before initializing MPI, because
/// MPI sets some of these variables itself in a process that no launcher started. Errors as mpi_launch(). Do not call
/// it while another thread calls mpi_launch() or numbered_launch().
void keep_mpi_launch();

/// Makes this process's end of the job that the launcher started; without a launcher, the end of a job of one task.
/// Starts MPI with MPI_THREAD_FUNNELED unless it runs already, and then finalizes it when the process exits. All tasks
/// call it together, any number of times. Only the calling thread may use the transport. Error(usage) without MPI, and
/// if the launcher's number of tasks differs from the size of MPI_COMM_WORLD; Error(stalled) if the others do not come.
[[nodiscard]] std::unique_ptr<Transport> mpi_transport(const MpiOptions& options = {});

/// Makes this rank's end of a job. The ranks of a communicator are the tasks of the job. `communicator` points to the
/// program's MPI_Comm, and `abi` belongs to its <mpi.h>: <ferry/mpi.hpp> passes both. The job uses duplicates of the
/// communicator, so that no message of the program can match a receive of ferry's. All ranks call it together.
/// Error(usage) unless MPI runs and the communicator has one group (not MPI_COMM_NULL, no intercommunicator).
/// Error(stalled) if not all ranks come.
[[nodiscard]] std::unique_ptr<Transport> mpi_transport_over(const void* communicator, MpiAbi abi,
                                                            const MpiOptions& options = {});

/// The value of TcpOptions::rendezvous for tasks that find each other by the process manager interface (PMI) of their
/// launcher: the mpiexec of MPICH or Intel MPI, or srun --mpi=pmi2. Such tasks need no MPI library, no address and no
/// secret.
inline constexpr const char* kPmiPlace = "pmi:";
/// Error(usage) on a task over MPI if the task before it uses TCP. Then MPI_Init would end the job without a reason
/// that users understand. All tasks call it before they start MPI or meet over TCP; `way` is the version of the MPI, or
/// for a task over TCP, with `tcp`, the reason why. Only the mpiexec of MPICH and Intel MPI let MPI follow such a
/// check; it does nothing under other launchers. Error(stalled) if not all tasks come before the deadline.
void require_one_way(const MpiLaunch& launch, bool tcp, const std::string& way, std::chrono::milliseconds deadline);
/// Whether the launcher of this process offers PMI.
[[nodiscard]] bool pmi_offered();
/// If the launcher offers PMI: makes it end the other processes of the job when this process exits with an error,
/// unless this process has left the job in order. They could wait for it without a deadline, in MPI_Init. The tasks of
/// a failed job have two seconds to end by themselves. Does nothing in a program that has MPI itself.
void end_others_at_exit();
/// Undoes end_others_at_exit() for the rest of the process: from now on MPI uses the launcher's PMI, or each process
/// has a job of its own.
void release_pmi() noexcept;
/// Does the same as the exit of this process, for callers that end it without exit handlers, with `code`.
void leave_pmi(Code code) noexcept;

/// How a task joins a job over TCP.
struct TcpOptions {
  int task = 0, tasks = 1;
  /// The place of task 0's notice: FERRY_RENDEZVOUS or kPmiPlace; empty: `address` and `port` are known.
  std::string rendezvous = {};
  std::string address = "127.0.0.1";  ///< address of the rendezvous
  int port = 0;
  /// Whether a RendezvousServer runs already, at `address` or in the notice. If not, task 0 makes one.
  bool served = false;
  /// Name or address of the interface at which this task listens; empty: the interface that reaches the rendezvous.
  std::string interface = {};
  std::string secret = {};  ///< the same for all tasks; may be empty on loopback only
  std::string reason = {};  ///< why this task does not use MPI, although the launcher is one of MPI
  std::string rank_variable = {}, size_variable = {};  ///< the variables of a launch that have `task` and `tasks`
  int threads = 1;  ///< of this task; if a host has more threads than cores, waiting tasks sleep sooner
  std::chrono::milliseconds deadline{60000};  ///< for all tasks to join the job, and for a cut link to come back
};

/// Reads the variables RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (all as torchrun sets them), FERRY_RENDEZVOUS_SERVED,
/// FERRY_INTERFACE and FERRY_SECRET. FERRY_RENDEZVOUS, "file:/FOLDER/NAME" or "redis://[:PASSWORD@]HOST[:PORT]/KEY",
/// can replace MASTER_ADDR and MASTER_PORT if these are not known. Variables of Kubeflow's trainer can replace the
/// first four. If neither RANK nor WORLD_SIZE is set, `numbers`, if given, has their values. Returns nothing if rank
/// and size are both missing, or if only one of RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and FERRY_RENDEZVOUS is set.
/// With `numbers`, returns nothing if none of the last three is set. Error(usage), which names the variable, if another
/// variable is missing or wrong, or if FERRY_RENDEZVOUS and MASTER_ADDR or MASTER_PORT are both set.
[[nodiscard]] std::optional<TcpOptions> tcp_launch(const std::optional<MpiLaunch>& numbers = std::nullopt);

/// Makes this task's end of a job over TCP. All tasks call it. The task listens on one address until all tasks are
/// connected. Any two tasks prove to each other that they know the secret. Messages are not encrypted. Only the calling
/// thread may use the transport. Error(usage) if the job is impossible: no secret, different secrets, two tasks with
/// one number, an address that does not exist, a port in use, a place for the notice that cannot be used.
/// Error(stalled), which names the tasks that do not come; Error(peer_lost) if a task ends; Error(resource) for too few
/// descriptors.
[[nodiscard]] std::unique_ptr<Transport> tcp_transport(const TcpOptions& options);

/// For callers that end the process without destroying its transports. Informs the other tasks that this task's jobs
/// over TCP have failed with `code` and `why`. `said`: this task has printed `why`, so the others do not. Does nothing
/// for jobs of other threads.
void leave_tcp(Code code, std::string_view why, bool said) noexcept;

/// Wraps `inner`, so that messages between tasks of one host go through shared memory (comm/shm). Everything else uses
/// `inner`, also messages between tasks that cannot open each other's memory. All tasks call it together; `threads` as
/// in MpiOptions. Only the calling thread may use the transport. Error(resource) if there is not enough memory for the
/// messages, Error(stalled) if the others do not come.
[[nodiscard]] std::unique_ptr<Transport> shared_memory_transport(std::unique_ptr<Transport> inner, int threads,
                                                                 std::chrono::milliseconds deadline);

/// Carries messages between processes that run several tasks each. Tasks of one process exchange messages in memory
/// (comm/inproc); tasks of different processes share one transport between the processes, and only one thread may use
/// it. That thread calls serve(). Made by host_tasks(). Destroy it before the ends; it fails their job unless all of
/// them have been closed.
///
///     auto [ends, relay] = host_tasks(mpi_transport(), 8);
///     // … start a thread for each end, then call on this thread:
///     relay->serve([&] { return all_threads_are_done(); });
///
/// Call all functions except wake() on the thread that made the transport between the processes.
class HostRelay {
 public:
  virtual ~HostRelay() = default;
  /// Error(usage) on a thread that may not call serve().
  virtual void check_thread() const = 0;
  /// Carries messages, exchanges and failures between the processes until `until()` returns true. Meanwhile other
  /// threads may use the ends; this thread must not. It never throws: an error between the processes makes the job
  /// fail.
  virtual void serve(const std::function<bool()>& until) = 0;
  /// Makes serve() call `until` again. Any thread may call it.
  virtual void wake() noexcept = 0;
  /// Returns the texts `mine` of all processes. All processes call it; do not call it while tasks run. Error(stalled)
  /// names the tasks of the processes that did not call it.
  [[nodiscard]] virtual std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) = 0;
};

struct HostedTasks {
  std::vector<std::unique_ptr<Transport>> ends;  ///< one for each task of this process; any thread may use them
  std::unique_ptr<HostRelay> relay;
};

/// Makes a job of `tasks` tasks in the processes that `between` connects, at most `tasks` processes. Each process has
/// consecutive tasks: task t is in process floor(t * processes / tasks). All processes call it together.
[[nodiscard]] HostedTasks host_tasks(std::unique_ptr<Transport> between, int tasks);
/// The number of the process that has `task`, and the first task of a process, in such a job.
[[nodiscard]] int process_of_task(int task, int tasks, int processes);
[[nodiscard]] int first_task_of(int process, int tasks, int processes);

/// Does the work of the exit handlers, for callers that end the process without them (such as a handler of
/// std::terminate, before std::_Exit). It leaves all jobs over MPI; they fail with `code` and `why` unless they were
/// closed. `said`: this task has printed `why`, so the others do not. It finalizes MPI if ferry started it. Waits a few
/// seconds at most for the tasks of failed jobs, and without limit for the tasks of closed jobs. Does nothing if MPI
/// does not run or this thread must not call MPI.
void leave_mpi(Code code, std::string_view why, bool said) noexcept;

}  // namespace ferry
#pragma GCC visibility pop

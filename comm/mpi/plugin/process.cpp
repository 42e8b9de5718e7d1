#include "comm/mpi/plugin/process.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/process/environment.hpp"
#include "base/system/clock.hpp"
#include "base/text.hpp"
#include "comm/mpi/plugin/mpi_call.hpp"

namespace ferry::mpi {
namespace {

constexpr std::chrono::seconds kGrace{2};
constexpr std::chrono::milliseconds kPoll{1};

struct Process {
  std::vector<std::shared_ptr<MpiJob>> jobs;
  std::thread::id thread;
  pid_t pid = 0;
  bool started_by_ferry = false;  // ferry has started MPI
  bool started = false;
};

/// Never destroyed: the exit of the process reads it.
Process& process() {
  static auto& process = *new Process;
  return process;
}

void leave_job(MpiJob& job, Code code, std::string_view why, bool said) {
  if (!job.control().closed()) job.control().fail({job.task(), code, std::string(why), said});
  job.control().close(job.task());
}

/// Waits until all peers have said goodbye. Returns false if this takes too long after a failure. The failed task waits
/// only half as long as the others, so that it calls MPI_Abort first: mpirun may crash if several tasks call it.
bool await_peers(MpiJob& job, TimePoint begin) {
  while (!job.all_gone() || !job.all_sent()) {
    if (const auto& failure = job.control().failure()) {
      const Duration grace = failure->task == job.task() ? kGrace : 2 * kGrace;
      if (system_clock().now() - begin >= grace) return false;
    }
    job.poll();
    if (!job.all_gone()) system_clock().sleep(kPoll);
  }
  return true;
}

/// Leaves all jobs. Returns false if a peer of a failed job did not answer, or MPI failed.
bool leave_all_jobs(Code code, std::string_view why, bool said) {
  bool all_left = true;
  try {
    for (const auto& job : process().jobs) leave_job(*job, code, why, said);
    const TimePoint begin = system_clock().now();
    for (const auto& job : process().jobs) all_left = await_peers(*job, begin) && all_left;
  } catch (const Error&) {
    all_left = false;
  }
  return all_left;
}

/// The exit code of all tasks of a failed job: the code of the first failure.
int exit_code() {
  for (const auto& job : process().jobs)
    if (job->control().failure()) return static_cast<int>(job->control().failure()->code);
  return static_cast<int>(Code::peer_lost);
}

/// Whether this thread may call MPI. A child of fork() may not. While a transport exists, only the thread that called
/// start() may, because the transport may be calling MPI on it.
bool may_call() {
  const Process& self = process();
  const auto unused = [](const auto& job) { return job.use_count() == 1; };
  return running() && getpid() == self.pid &&
         (std::this_thread::get_id() == self.thread || std::all_of(self.jobs.begin(), self.jobs.end(), unused));
}

void at_exit() {
  leave(Code::peer_lost, "the process ended before the job was done (exit without close)", false);
}

/// MPI calls this when the program's own MPI_Finalize begins, because that deletes the attributes of MPI_COMM_SELF.
int at_finalize(MPI_Comm, int, void*, void*) {
  if (!may_call()) return MPI_SUCCESS;
  if (!leave_all_jobs(Code::peer_lost, "MPI was finalized before the job was done", false)) {
    MPI_Abort(MPI_COMM_WORLD, exit_code());
  }
  process().jobs.clear();
  return MPI_SUCCESS;
}

/// Parameters of Open MPI, which its MPI_Init reads from the environment. MPICH and Intel MPI need no tuning.
constexpr std::array<std::pair<const char*, const char*>, 4> kTuning = {{
    {"OMPI_MCA_btl_vader_eager_limit", "32768"},  // on one host, 4 KB messages take a quarter of the time
    // Over TCP: send messages up to 128 KiB without a handshake. Send longer messages as a pipeline of fragments,
    // because for a put the receiver must send an address first.
    {"OMPI_MCA_btl_tcp_eager_limit", "131072"},
    {"OMPI_MCA_btl_tcp_max_send_size", "524288"},
    {"OMPI_MCA_btl_tcp_flags", "send,inplace"},
}};

void start_mpi() {
  std::vector<std::unique_ptr<EnvironmentSetting>> settings;
  if (library_version().starts_with("Open MPI"))
    for (const auto& [name, value] : kTuning)  // the user's own settings take precedence
      if (std::getenv(name) == nullptr) settings.push_back(std::make_unique<EnvironmentSetting>(name, value));
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    throw Error(Code::resource, "mpi: MPI_Init_thread failed");
  }
  process().started_by_ferry = true;
}

void hook_finalize() {
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &key, nullptr), "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
}

}  // namespace

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string_view line(text, static_cast<std::size_t>(length));
  line = line.substr(0, line.find_first_of(",\n"));
  // MPICH returns "MPICH Version:      4.0.2".
  constexpr std::string_view kBefore = " Version:";
  const std::size_t name = line.find(kBefore);
  if (name == std::string_view::npos) return std::string(line);
  return std::string(line.substr(0, name)) + " " + std::string(trimmed(line.substr(name + kBefore.size())));
}

bool running() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void start() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) throw Error(Code::usage, "mpi: MPI was finalized and cannot start again");
  if (process().started && getpid() != process().pid)
    throw Error(Code::usage, "mpi: this process was forked from process {}, which runs MPI; it cannot continue here",
                process().pid)
        .hint("fork() before connect");
  if (process().started) return;
  if (!running()) start_mpi();
  process().pid = getpid();
  process().thread = std::this_thread::get_id();
  if (!process().started_by_ferry) hook_finalize();
  std::atexit(at_exit);
  process().started = true;
}

void watch(std::shared_ptr<MpiJob> job) {
  auto& jobs = process().jobs;
  std::erase_if(jobs, [](const auto& old) {
    if (old.use_count() > 1 || !old->control().closed() || old->control().failure()) return false;
    old->poll();
    return old->all_gone() && old->all_sent();
  });
  jobs.push_back(std::move(job));
}

void leave(Code code, std::string_view why, bool said) noexcept {
  if (!may_call()) return;
  const bool all_left = leave_all_jobs(code, why, said);
  if (!all_left && process().started_by_ferry) MPI_Abort(MPI_COMM_WORLD, exit_code());
  process().jobs.clear();
  if (process().started_by_ferry) MPI_Finalize();
}

}  // namespace ferry::mpi

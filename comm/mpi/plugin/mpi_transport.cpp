// Transport over MPI. Every message is a nonblocking send or receive with its channel as tag. It is cut into chunks if
// it is too long for MPI's int counts. Messages make progress when they are tested; see idle() for how it waits.
#include <algorithm>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "base/system/limits.hpp"
#include "base/text.hpp"
#include "comm/failure.hpp"
#include "comm/mpi/plugin/job.hpp"
#include "comm/mpi/plugin/mpi_call.hpp"
#include "comm/mpi/plugin/process.hpp"
#include "comm/mpi/plugin/transport_over.hpp"

namespace ferry {
namespace {

using mpi::check;
using std::chrono::microseconds;

constexpr int kControlEvery = 32;      // number of tests of data messages between checks for words
constexpr microseconds kShortSpin{5};  // spin time of idle() on a host with more threads than cores
constexpr microseconds kLongSpin{200};
constexpr std::int64_t kBytesPerMicrosecond = 1000;  // assumed speed of messages, which progress only during tests
constexpr microseconds kLongestSpin{50000};
constexpr microseconds kShortestSleep{20};
constexpr microseconds kLongestSleep{1000};
constexpr std::chrono::milliseconds kCancelTime{200};

/// One message. `chunks` has the chunks that are not complete.
struct Transfer {
  struct Chunk {
    MPI_Request request = MPI_REQUEST_NULL;
    int bytes = 0;
  };
  std::vector<Chunk> chunks;
  std::int64_t bytes = 0;
  int peer = 0;
  std::uint32_t channel = 0;
  bool receives = false;
  bool open = false;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(std::shared_ptr<mpi::MpiJob> job, std::int64_t chunk_bytes, microseconds spin);
  ~MpiTransport() override;

  Ticket send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) override;
  Ticket receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) override;
  bool done(Ticket ticket) override;
  void idle(microseconds at_most) override;
  std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) override;

  void abort(const Failure& failure) noexcept override;
  std::optional<Failure> failure() override;
  void close() override { control().close(task()); }
  std::unique_ptr<Transport> renewed(std::chrono::milliseconds deadline) override;
  WireCount sent() const override;
  std::uint64_t moved() const override { return completed_; }

 private:
  [[nodiscard]] ControlPlane& control() const { return job_->control(); }
  Ticket new_ticket(int peer, std::uint32_t channel, bool receives, std::size_t bytes);
  template <class Start>
  void start_chunks(Transfer& transfer, std::size_t bytes, Start start);
  void test(Transfer& transfer);
  [[nodiscard]] microseconds spin() const;
  void check_job();
  void withdraw();
  [[nodiscard]] bool all_arrived();

  std::shared_ptr<mpi::MpiJob> job_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::size_t chunk_;
  std::uint32_t largest_tag_ = 0;
  std::vector<Transfer> transfers_;  // a ticket is an index, plus one
  std::vector<std::uint32_t> free_;
  int tests_ = 0;
  microseconds spin_;
  std::optional<TimePoint> idle_since_;
  std::int64_t under_way_ = 0;  // bytes
  bool withdrawn_ = false;
  WireCount data_sent_;
  std::uint64_t completed_ = 0;  // chunks
};

MpiTransport::MpiTransport(std::shared_ptr<mpi::MpiJob> job, std::int64_t chunk_bytes, microseconds spin)
    : Transport({.name = "mpi", .task = job->task(), .tasks = job->tasks()}),
      job_(std::move(job)),
      chunk_(static_cast<std::size_t>(chunk_bytes)),
      spin_(spin) {
  void* bound = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(job_->data(), MPI_TAG_UB, &bound, &found), "MPI_Comm_get_attr");
  largest_tag_ = found != 0 ? static_cast<std::uint32_t>(*static_cast<int*>(bound)) : 32767;  // what MPI guarantees
}

MpiTransport::~MpiTransport() {
  if (!mpi::running()) return;
  if (!control().closed()) abort({task(), Code::peer_lost, "the task ended before the job was done (without close)"});
}

/// Throws if the job has failed, or on a thread that may not call MPI.
void MpiTransport::check_job() {
  if (std::this_thread::get_id() != owner_) {
    throw Error(Code::usage, "transport mpi: used from another thread than the one that made it")
        .hint("call run() on the thread that called connect()");
  }
  if (!control().failure()) return;
  withdraw();
  throw error_of(*control().failure());
}

/// After the job has failed: cancels the receives, so that MPI writes no later message into their buffers. MPI cannot
/// cancel a receive while its message is arriving; such a receive gets kCancelTime to complete. Sends are only
/// forgotten.
void MpiTransport::withdraw() {
  if (std::exchange(withdrawn_, true)) return;
  for (Transfer& transfer : transfers_) {
    if (!transfer.receives) transfer.chunks.clear();
    for (auto& [request, bytes] : transfer.chunks)
      if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
  }
  const Deadline deadline(system_clock(), kCancelTime);
  while (!all_arrived() && !deadline.expired()) std::this_thread::yield();
}

/// Whether all receives that were withdrawn are cancelled or complete.
bool MpiTransport::all_arrived() {
  for (Transfer& transfer : transfers_)
    while (!transfer.chunks.empty()) {
      int complete = 0;
      if (MPI_Test(&transfer.chunks.back().request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0)
        return false;
      transfer.chunks.pop_back();
    }
  return true;
}

Ticket MpiTransport::new_ticket(int peer, std::uint32_t channel, bool receives, std::size_t bytes) {
  check_job();
  FERRY_ASSERT(peer >= 0 && peer < tasks(), "peer out of range");
  if (channel > largest_tag_) {
    throw Error(Code::plan, "transport mpi: channel {} is above MPI's largest tag, {}", channel, largest_tag_);
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t at = free_.back();
  free_.pop_back();
  Transfer& transfer = transfers_[at];
  transfer.peer = peer;
  transfer.channel = channel;
  transfer.receives = receives;
  transfer.bytes = static_cast<std::int64_t>(bytes);
  under_way_ += transfer.bytes;
  transfer.open = true;
  return Ticket{at} + 1;
}

template <class Start>
void MpiTransport::start_chunks(Transfer& transfer, std::size_t bytes, Start start) {
  std::size_t begin = 0;
  do {
    const std::size_t count = std::min(bytes - begin, chunk_);
    auto& chunk = transfer.chunks.emplace_back();
    chunk.bytes = static_cast<int>(count);
    start(begin, chunk);
    begin += count;
  } while (begin < bytes);
}

Ticket MpiTransport::send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) {
  const Ticket ticket = new_ticket(peer, channel, false, bytes.size());
  start_chunks(transfers_[ticket - 1], bytes.size(), [&](std::size_t begin, Transfer::Chunk& chunk) {
    check(MPI_Isend(bytes.data() + begin, chunk.bytes, MPI_BYTE, peer, static_cast<int>(channel), job_->data(),
                    &chunk.request),
          "MPI_Isend");
    ++data_sent_.messages;
  });
  data_sent_.bytes += static_cast<std::int64_t>(bytes.size());
  return ticket;
}

Ticket MpiTransport::receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) {
  const Ticket ticket = new_ticket(peer, channel, true, bytes.size());
  start_chunks(transfers_[ticket - 1], bytes.size(), [&](std::size_t begin, Transfer::Chunk& chunk) {
    check(MPI_Irecv(bytes.data() + begin, chunk.bytes, MPI_BYTE, peer, static_cast<int>(channel), job_->data(),
                    &chunk.request),
          "MPI_Irecv");
  });
  return ticket;
}

/// Removes the complete chunks.
void MpiTransport::test(Transfer& transfer) {
  while (!transfer.chunks.empty()) {
    auto& [request, expected] = transfer.chunks.back();
    int complete = 0, got = expected;
    MPI_Status status;
    const int result = MPI_Test(&request, &complete, &status);
    if (result == MPI_SUCCESS && complete == 0) return;
    int kind = MPI_SUCCESS;
    MPI_Error_class(result, &kind);
    if (kind != MPI_ERR_TRUNCATE) check(result, "MPI_Test");
    if (transfer.receives) MPI_Get_count(&status, MPI_BYTE, &got);
    transfer.chunks.pop_back();
    ++completed_;
    if (got != expected || kind == MPI_ERR_TRUNCATE) {
      throw size_error(transfer.peer, task(), transfer.channel, static_cast<std::size_t>(got),
                       static_cast<std::size_t>(expected));
    }
  }
}

bool MpiTransport::done(Ticket ticket) {
  if (++tests_ % kControlEvery == 0) job_->poll();
  check_job();
  FERRY_ASSERT(ticket >= 1 && ticket <= transfers_.size() && transfers_[ticket - 1].open,
               "a ticket was used after it was done");
  Transfer& transfer = transfers_[ticket - 1];
  test(transfer);
  if (!transfer.chunks.empty()) return false;
  transfer.open = false;
  under_way_ -= transfer.bytes;
  free_.push_back(static_cast<std::uint32_t>(ticket - 1));
  idle_since_.reset();
  return true;
}

/// The time to test without sleeping. If cores are free, it includes the estimated time of the messages in flight.
microseconds MpiTransport::spin() const {
  if (spin_ < kLongSpin) return spin_;
  return std::min(kLongestSpin, spin_ + microseconds(under_way_ / kBytesPerMicrosecond));
}

/// At the start of an idle period, returns at once, so that the caller tests again. After spin(), sleeps for an eighth
/// of the idle time so far. Sleeping helps if threads share cores: the scheduler runs a waking thread at once, but a
/// spinning thread has to wait for the end of another thread's time slice.
void MpiTransport::idle(microseconds at_most) {
  job_->poll();
  check_job();
  const TimePoint now = system_clock().now();
  if (!idle_since_) idle_since_ = now;
  const auto idle_for = std::chrono::duration_cast<microseconds>(now - *idle_since_);
  if (idle_for < spin()) return;
  system_clock().sleep(std::min(at_most, std::clamp(idle_for / 8, kShortestSleep, kLongestSleep)));
}

std::vector<std::string> MpiTransport::exchange(std::string_view mine, const Deadline& deadline) {
  check_job();
  idle_since_.reset();
  auto exchange = control().start_exchange(task(), mine, deadline);
  for (;;) {
    idle(kLongestSleep);
    if (const auto texts = control().finish_exchange(exchange)) {
      idle_since_.reset();
      return std::move(*texts);
    }
  }
}

void MpiTransport::abort(const Failure& failure) noexcept {
  try {
    control().fail(failure);
    const Deadline deadline(system_clock(), kCancelTime);
    while (!job_->all_sent() && !deadline.expired()) job_->poll();
    withdraw();
  } catch (const Error&) {  // MPI is broken, so the peers will notice anyway
  }
}

std::optional<Failure> MpiTransport::failure() {
  job_->poll();
  return control().failure();
}

WireCount MpiTransport::sent() const {
  const WireCount words = job_->sent();
  return {data_sent_.messages + words.messages, data_sent_.bytes + words.bytes};
}

/// Waits until `ready()` is true. Error(stalled) at the deadline. `before` is the failed job that these tasks restart,
/// or null: Error(peer_lost) if a task has left that job.
template <class Ready>
void wait_for_tasks(const Ready& ready, const Deadline& deadline, mpi::MpiJob* before) {
  while (!ready()) {
    if (before != nullptr) {
      before->poll();
      if (const auto gone = before->control().left_among(before->control().others()); !gone.empty())
        throw closed_error(gone);
    }
    if (!deadline.expired()) continue;
    if (before != nullptr)
      throw Error(Code::stalled, "mpi: not all tasks restarted the failed job before the deadline")
          .hint("every rank must make a new session and run it; see whether one waits elsewhere");
    throw Error(Code::stalled, "mpi: not all tasks joined the job before the deadline")
        .hint("every rank must call connect or adopt; see whether one waits elsewhere");
  }
}

void ignore_error(MPI_Comm* /*comm*/, int* /*code*/, ...) {}  // NOLINT(cert-dcl50-cpp): its type is fixed by MPI

/// Makes the functions of MPI return their errors. MPI_ERRORS_RETURN cannot be used with the standard ABI: it has
/// different numbers in MPICH 5.0.2 and Intel MPI 2021.19.
void return_errors(MPI_Comm comm) {
  MPI_Errhandler handler{};
  check(MPI_Comm_create_errhandler(&ignore_error, &handler), "MPI_Comm_create_errhandler");
  check(MPI_Comm_set_errhandler(comm, handler), "MPI_Comm_set_errhandler");
  check(MPI_Errhandler_free(&handler), "MPI_Errhandler_free");
}

/// A duplicate of `comm` that is called `name` and returns errors instead of aborting. Errors as wait_for_tasks().
MPI_Comm duplicate(MPI_Comm comm, const char* name, const Deadline& deadline, mpi::MpiJob* before) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(comm, &copy, &request), "MPI_Comm_idup");
  const auto duplicated = [&] {
    int complete = 0;
    check(MPI_Test(&request, &complete, MPI_STATUS_IGNORE), "MPI_Test");
    return complete != 0;
  };
  wait_for_tasks(duplicated, deadline, before);
  return_errors(copy);
  check(MPI_Comm_set_name(copy, name), "MPI_Comm_set_name");
  return copy;
}

/// The time to spin before sleeping. It is short if this task has more threads than cores that it may use, or if all
/// tasks of the host, with `threads` threads each, have more threads than the host has cores.
microseconds spin_for(MPI_Comm comm, int threads) {
  MPI_Comm host = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  int tasks = 1;
  MPI_Comm_size(host, &tasks);
  MPI_Comm_free(&host);
  return is_crowded(threads, threads * tasks) ? kShortSpin : kLongSpin;
}

std::shared_ptr<mpi::MpiJob> job_over(MPI_Comm comm, const Deadline& deadline, mpi::MpiJob* before = nullptr) {
  const MPI_Comm data = duplicate(comm, "ferry data", deadline, before);
  const MPI_Comm words = duplicate(comm, "ferry control", deadline, before);
  auto job = std::make_shared<mpi::MpiJob>(data, words);
  mpi::watch(job);
  return job;
}

/// Error(usage) unless `comm` is a communicator of one group of ranks.
void require_one_group(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    throw Error(Code::usage, "adopt: the communicator is MPI_COMM_NULL: this rank belongs to no group")
        .hint("call adopt only on ranks to which MPI_Comm_split gave a communicator (MPI_UNDEFINED gives none)");
  int inter = 0;
  check(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter == 0) return;
  int local = 0, remote = 0, length = 0;
  char name[MPI_MAX_OBJECT_NAME] = {};
  MPI_Comm_size(comm, &local);
  MPI_Comm_remote_size(comm, &remote);
  MPI_Comm_get_name(comm, name, &length);
  const std::string named = length > 0 ? formatted(" {:?}", name) : "";
  throw Error(Code::usage, "adopt: the communicator" + named + " is an intercommunicator, between groups of " +
                               plural(static_cast<std::uint64_t>(local), "rank") + " and " +
                               plural(static_cast<std::uint64_t>(remote), "rank"))
      .hint("MPI_Intercomm_merge makes a communicator of all of them; adopt that");
}

/// The new job runs on duplicates of the communicator, so that messages of the failed job which still come cannot match
/// its receives. Before a task duplicates the communicator, it has withdrawn its receives, and messages that were
/// arriving have arrived. So MPI no longer writes into buffers of the failed job.
std::unique_ptr<Transport> MpiTransport::renewed(std::chrono::milliseconds deadline) {
  FERRY_ASSERT(control().failure().has_value(), "a job that has not failed does not restart");
  const Deadline all_come(system_clock(), deadline);
  withdraw();
  wait_for_tasks([this] { return all_arrived(); }, all_come, job_.get());
  auto job = job_over(job_->data(), all_come, job_.get());
  return std::make_unique<MpiTransport>(std::move(job), static_cast<std::int64_t>(chunk_), spin_);
}

}  // namespace

std::unique_ptr<Transport> mpi::transport_over(MPI_Comm comm, const MpiOptions& options) {
  FERRY_ASSERT(options.chunk_bytes > 0 && options.chunk_bytes <= INT32_MAX, "chunk_bytes out of range");
  require_one_group(comm);
  start();
  auto job = job_over(comm, Deadline(system_clock(), options.deadline));
  const microseconds spin = spin_for(job->data(), options.threads);
  return std::make_unique<MpiTransport>(std::move(job), options.chunk_bytes, spin);
}

}  // namespace ferry

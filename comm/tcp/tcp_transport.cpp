// Transport over TCP: a connection between each two tasks (comm/tcp/frame.hpp says what goes over it). Like MPI, it
// makes progress only when it is tested, in the thread that made it.
#include <sched.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "comm/backends.hpp"
#include "comm/failure.hpp"
#include "comm/tcp/job.hpp"
#include "comm/tcp/pmi.hpp"

namespace ferry {
namespace {

using std::chrono::microseconds;
using tcp::Job;

constexpr int kAllEvery = 32;                          // polls all connections after this many tests of one message
constexpr microseconds kLongestWait{1000};             // of exchange(), between checks of the deadline
constexpr microseconds kSpin{2000}, kShortestSpin{5};  // of idle(); kShortestSpin if threads outnumber cores
/// If this time passes between two polls of idle(), other processes need the core. They may be in other containers or
/// virtual hosts of this machine, which the job does not know. idle() then spins shortly for a while.
constexpr microseconds kStolen{1000};
constexpr std::chrono::seconds kStolenFor{1};

/// The jobs of this process, for leave_tcp().
struct Jobs {
  std::mutex mutex;
  std::vector<std::weak_ptr<Job>> all;

  void add(const std::shared_ptr<Job>& job) {
    const std::scoped_lock lock(mutex);
    std::erase_if(all, [](const auto& old) { return old.expired(); });
    all.push_back(job);
  }
};

/// Never destroyed, because leave_tcp() reads it while the process exits.
Jobs& jobs_here() {
  static auto& jobs = *new Jobs;
  return jobs;
}

class TcpTransport final : public Transport, public JobMembership {
 public:
  TcpTransport(std::shared_ptr<Job> job, microseconds spin)
      : Transport({.name = "tcp", .task = job->task(), .tasks = job->tasks(), .membership = this}),
        job_(std::move(job)),
        spin_(spin) {}
  ~TcpTransport() override;

  Ticket send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) override;
  Ticket receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) override;
  bool done(Ticket ticket) override;
  void idle(microseconds at_most) override;
  std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) override;

  void spare(std::span<const int> tasks, Losses& losses, const Deadline& deadline) override;
  bool is_lost(int task) const override { return control().is_lost(task); }

  void abort(const Failure& failure) noexcept override;
  std::optional<Failure> failure() override;
  void close() override;
  std::unique_ptr<Transport> renewed(std::chrono::milliseconds deadline) override;
  WireCount sent() const override { return job_->sent(); }
  std::uint64_t moved() const override { return job_->moved(); }
  std::vector<LinkCount> links() const override { return job_->links(); }

 private:
  void check();
  [[nodiscard]] Ticket make_ticket(std::uint32_t number, int peer);
  [[nodiscard]] bool release(std::uint32_t number);
  /// True if the job has been restarted since, with another transport.
  [[nodiscard]] bool over() const { return over_.has_value(); }

  [[nodiscard]] ControlPlane& control() const { return job_->control(); }

  std::shared_ptr<Job> job_;
  microseconds spin_;
  TimePoint shared_until_;  // until then, other processes probably need the core
  int tests_ = 0;
  std::optional<Failure> over_;
};

TcpTransport::~TcpTransport() {
  if (!over() && !control().closed())
    abort({task(), Code::peer_lost, "the task ended before the job was done (without close)"});
}

/// Throws if the job has failed, or on a thread other than the transport's own.
void TcpTransport::check() {
  job_->check_thread();
  if (over()) throw error_of(*over_);
  if (control().failure()) throw error_of(*control().failure());
}

Ticket TcpTransport::make_ticket(std::uint32_t number, int peer) {
  job_->watch_writable(peer);
  if (!job_->transfers()[number].complete) return Ticket{number} + 1;
  job_->transfers().free_number(number);
  return kComplete;
}

Ticket TcpTransport::send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) {
  check();
  FERRY_ASSERT(peer >= 0 && peer < tasks(), "peer out of range");
  if (control().is_lost(peer)) return kComplete;
  return make_ticket(job_->peer(peer).send(channel, bytes), peer);
}

Ticket TcpTransport::receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) {
  check();
  FERRY_ASSERT(peer >= 0 && peer < tasks(), "peer out of range");
  if (control().is_lost(peer)) return kComplete;
  return make_ticket(job_->peer(peer).receive(channel, bytes), peer);
}

/// Frees a completed transfer. Throws if its two ends have different sizes.
bool TcpTransport::release(std::uint32_t number) {
  const tcp::TcpMessage transfer = job_->transfers()[number];
  if (transfer.other_bytes) {
    const auto& [peer, channel, receives, open, complete, bytes, other] = transfer;
    throw receives ? size_error(peer, task(), channel, *other, bytes)
                   : size_error(task(), peer, channel, bytes, *other);
  }
  if (!transfer.complete) return false;
  job_->transfers().free_number(number);
  return true;
}

bool TcpTransport::done(Ticket ticket) {
  check();
  if (ticket == kComplete) return true;
  tcp::TcpMessage* transfer = job_->transfers().find(ticket - 1);
  FERRY_ASSERT(transfer != nullptr, "a ticket was used after it was done");
  const auto number = static_cast<std::uint32_t>(ticket - 1);
  if (release(number)) return true;
  const int peer = transfer->peer;
  if (++tests_ % kAllEvery == 0)
    job_->poll();
  else
    job_->poll_peer(peer);
  check();
  if (release(number)) return true;
  if (job_->has_gone(peer)) throw closed_error({&peer, 1}, "a message");
  return false;
}

/// Polls for a while if a core is free, since sleeping and waking takes longer than most messages.
void TcpTransport::idle(microseconds at_most) {
  check();
  control().look_for_losses();
  job_->poll();
  const TimePoint begin = system_clock().now();
  const microseconds spin = std::min(begin < shared_until_ ? kShortestSpin : spin_, at_most);
  for (TimePoint last = begin; !job_->transfers().take_moved();) {
    check();
    const TimePoint now = system_clock().now();
    if (now - last >= kStolen) shared_until_ = now + kStolenFor;
    if (now - begin >= spin) {
      job_->poll(at_most);
      break;
    }
    last = now;
    job_->poll();
  }
  check();
}

std::vector<std::string> TcpTransport::exchange(std::string_view mine, const Deadline& deadline) {
  check();
  auto exchange = control().start_exchange(task(), mine, deadline);
  for (;;) {
    if (const auto texts = control().finish_exchange(exchange)) return std::move(*texts);
    job_->poll(kLongestWait);
  }
}

void TcpTransport::spare(std::span<const int> tasks, Losses& losses, const Deadline& deadline) {
  check();
  if (control().begin_sparing(tasks, losses)) {
    static_cast<void>(exchange("", deadline));
    control().end_sparing();
  }
}

void TcpTransport::abort(const Failure& failure) noexcept {
  if (over()) return;
  try {
    job_->fail(failure);
    job_->deliver();
  } catch (const std::exception&) {  // no memory for the words: the other tasks see the connections close
  }
}

std::optional<Failure> TcpTransport::failure() {
  if (over()) return over_;
  control().look_for_losses();
  job_->poll();
  return control().failure();
}

void TcpTransport::close() {
  if (over()) return;
  control().close(task());
  if (!control().failure()) tcp::set_standing(tcp::Standing::left);
}

std::unique_ptr<Transport> TcpTransport::renewed(std::chrono::milliseconds deadline) {
  FERRY_ASSERT(!over() && control().failure().has_value(), "a job that has not failed does not restart");
  const Deadline all_come(system_clock(), deadline);
  over_ = control().failure();
  job_->restart();
  for (;;) {
    const std::vector<int> behind = control().not_renewed();
    if (behind.empty()) return std::make_unique<TcpTransport>(job_, spin_);
    if (control().failure()) throw error_of(*control().failure());
    if (const auto gone = control().left_among(behind); !gone.empty()) throw closed_error(gone);
    if (all_come.expired())
      throw Error(Code::stalled, "tcp: " + tasks_text(behind) + " did not restart the failed job before the deadline")
          .hint("every task must make a new session and run it; see whether one waits elsewhere");
    job_->poll(kLongestWait);
  }
}

}  // namespace

std::unique_ptr<Transport> tcp_transport(const TcpOptions& options) {
  end_others_at_exit();
  tcp::set_standing(tcp::Standing::outside);
  auto job = tcp::form_job(options);
  jobs_here().add(job);
  cpu_set_t mask;
  const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
  const int cores = known ? CPU_COUNT(&mask) : 1;
  const microseconds spin = options.threads * job->tasks_here() > cores ? kShortestSpin : kSpin;
  auto transport = std::make_unique<TcpTransport>(std::move(job), spin);
  static_cast<void>(transport->exchange("", Deadline(system_clock(), options.deadline)));
  tcp::set_standing(tcp::Standing::inside);
  return transport;
}

void leave_tcp(Code code, std::string_view why, bool said) noexcept {
  try {
    std::vector<std::shared_ptr<Job>> mine;
    {
      const std::scoped_lock lock(jobs_here().mutex);
      for (const auto& job : jobs_here().all)
        if (auto alive = job.lock(); alive && alive->on_its_thread()) mine.push_back(std::move(alive));
    }
    for (const auto& job : mine) {
      job->fail({job->task(), code, std::string(why), said});
      job->deliver();
    }
  } catch (const std::exception&) {  // the other tasks see the connections close
  }
}

}  // namespace ferry

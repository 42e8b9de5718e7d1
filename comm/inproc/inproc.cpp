// Transport between tasks of one process. Of a send and its receive, the side that comes second copies the bytes once,
// from the sender's buffer to the receiver's. The relay carries messages to other processes.
#include <algorithm>
#include <cstring>

#include "comm/failure.hpp"
#include "comm/inproc/hub.hpp"
#include "comm/transport.hpp"

namespace ferry {
namespace {

using inproc::Hub;
using inproc::Transfer;

constexpr std::chrono::microseconds kLookAgain{50'000};  // longest sleep of exchange(): a test's clock may jump
constexpr std::chrono::microseconds kUnpolled{50};  // longest sleep of idle() on a thread that has not called done()

/// The end that the calling thread polls, and its event count before the first test, so that idle() misses no event.
struct Poll {
  std::uint64_t end = 0;
  std::uint32_t seen = 0;
};
thread_local Poll poll;

class InprocTransport final : public Transport {
 public:
  InprocTransport(std::shared_ptr<Hub> hub, int task)
      : Transport({.name = "inproc", .task = task, .tasks = hub->tasks(), .any_thread = true}),
        hub_(std::move(hub)),
        id_(++last_id_) {}
  ~InprocTransport() override;

  Ticket send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) override;
  Ticket receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) override;
  bool done(Ticket ticket) override;
  void idle(std::chrono::microseconds at_most) override;
  std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) override;

  void abort(const Failure& failure) noexcept override { hub_->fail(failure); }
  std::optional<Failure> failure() override { return hub_->failure(); }
  void close() override;
  WireCount sent() const override { return {messages_.load(), bytes_.load()}; }
  std::uint64_t moved() const override { return static_cast<std::uint64_t>(messages_.load()); }

 private:
  Ticket transfer(int from, int to, std::uint32_t channel, const inproc::Offer& offer);
  void check();
  void count(std::size_t bytes);

  static inline std::atomic<std::uint64_t> last_id_{0};

  std::shared_ptr<Hub> hub_;
  std::uint64_t id_;
  std::atomic<bool> closed_{false};
  std::atomic<std::int64_t> waiting_{0};  // transfers with tickets that are not done
  std::atomic<std::int64_t> messages_{0}, bytes_{0};
};

InprocTransport::~InprocTransport() {
  if (!closed_ || waiting_ != 0) {
    hub_->fail({task(), Code::peer_lost, "the task ended before the job was done (without close)"});
  }
  if (hub_->failed()) hub_->wait_until_unused(task());
}

/// Throws if the job has failed. When it throws, no other thread touches this task's buffers any more.
void InprocTransport::check() {
  if (!hub_->failed()) return;
  hub_->wait_until_unused(task());
  throw error_of(*hub_->failure());
}

void InprocTransport::count(std::size_t bytes) {
  messages_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

Ticket InprocTransport::send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) {
  const Ticket ticket =
      transfer(task(), peer, channel, {.source = bytes.data(), .bytes = bytes.size(), .is_send = true});
  count(bytes.size());
  return ticket;
}

Ticket InprocTransport::receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) {
  return transfer(peer, task(), channel, {.target = bytes.data(), .bytes = bytes.size()});
}

Ticket InprocTransport::transfer(int from, int to, std::uint32_t channel, const inproc::Offer& offer) {
  FERRY_ASSERT(from >= 0 && from < tasks() && to >= 0 && to < tasks(), "peer out of range");
  const auto [refused, other, posted] = hub_->lane(from, to).offer(channel, offer);
  if (refused) check();
  if (posted != nullptr) {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    return reinterpret_cast<Ticket>(posted);
  }
  const int peer = offer.is_send ? to : from;
  const std::size_t sent = offer.is_send ? offer.bytes : other->bytes;
  const std::size_t expected = offer.is_send ? other->bytes : offer.bytes;
  if (sent == expected && sent > 0) {
    std::memcpy(offer.is_send ? other->target : offer.target, offer.is_send ? offer.source : other->source, sent);
  }
  if (sent == expected) other->complete.store(true, std::memory_order_release);
  hub_->copies(peer).fetch_sub(1, std::memory_order_release);
  if (sent != expected) throw size_error(from, to, channel, sent, expected);
  hub_->events(peer).notify();
  return kComplete;
}

bool InprocTransport::done(Ticket ticket) {
  if (poll.end != id_) poll = {id_, hub_->events(task()).now()};
  check();
  if (ticket == kComplete) return true;
  auto* transfer = reinterpret_cast<Transfer*>(ticket);
  if (!transfer->complete.load(std::memory_order_acquire)) return false;
  transfer->lane->release(transfer);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void InprocTransport::idle(std::chrono::microseconds at_most) {
  check();
  if (poll.end == id_) {
    hub_->events(task()).wait(poll.seen, at_most);
  } else {
    hub_->events(task()).wait(hub_->events(task()).now(), std::min(at_most, kUnpolled));
  }
  poll.end = 0;
  check();
}

std::vector<std::string> InprocTransport::exchange(std::string_view mine, const Deadline& deadline) try {
  check();
  auto exchange = hub_->start_exchange(task(), mine, deadline);
  count(mine.size());
  for (;;) {
    const auto seen = hub_->events(task()).now();
    const auto finish = [&](ControlPlane& control) { return control.finish_exchange(exchange); };
    if (const auto texts = hub_->with_control(finish)) return *texts;
    const auto left =
        deadline.expired() ? kLookAgain : std::chrono::ceil<std::chrono::microseconds>(deadline.remaining());
    hub_->events(task()).wait(seen, std::min(left, kLookAgain));
  }
} catch (const Error&) {
  check();
  throw;
}

void InprocTransport::close() {
  closed_ = true;
  hub_->close(task());
}

}  // namespace

std::unique_ptr<Transport> inproc::Hub::end(std::shared_ptr<Hub> hub, int task) {
  return std::make_unique<InprocTransport>(std::move(hub), task);
}

std::vector<std::unique_ptr<Transport>> inproc_transports(int tasks) {
  auto hub = std::make_shared<Hub>(tasks, TaskRange{0, tasks});
  std::vector<std::unique_ptr<Transport>> ends;
  ends.reserve(static_cast<std::size_t>(tasks));
  for (int task = 0; task < tasks; ++task) ends.push_back(Hub::end(hub, task));
  return ends;
}

}  // namespace ferry

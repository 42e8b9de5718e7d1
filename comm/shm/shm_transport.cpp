// Transport between tasks of one host through memory that they share, on top of another transport ("below") for
// everything else.
#include <algorithm>
#include <deque>
#include <utility>

#include "base/system/event_count.hpp"
#include "comm/backends.hpp"
#include "comm/failure.hpp"
#include "comm/shm/host.hpp"

namespace ferry {
namespace {

using shm::Inbox;
using shm::ShmOutbox;
using std::chrono::microseconds;

constexpr Ticket kInner = Ticket{1} << 63;             // the mark of a ticket of the transport below
constexpr std::uint32_t kControlEvery = 256;           // unsuccessful tests between checks of the transport below
constexpr microseconds kLookBelow{2000};               // longest sleep, because the transport below reports failures
constexpr microseconds kLookBelowOften{50};            // the same while messages are in flight there
constexpr microseconds kShortSpin{2}, kLongSpin{100};  // of idle(), before it sleeps

/// An address that identifies the calling thread: no other running thread has it.
const void* this_thread() {
  thread_local const char here = 0;
  return &here;
}

struct Transfer {
  shm::Receiving receiving;          // of a receive
  std::span<const std::byte> bytes;  // of a send
  std::uint32_t channel = 0;
  bool sends = false, announced = false;
  bool complete = false;  // of a send
  bool below = false;     // for a send: the transport below sends it, with the ticket `inner`
  Ticket inner = 0;
  int peer = 0;
};

/// The connection to another task of this host.
struct Peer {
  Peer(shm::Neighbour& near, shm::Segment& own, int self)
      : task(near.task),
        out(*near.to, *near.segment),
        in(*near.from, own, near.task, self),
        doorbell(near.doorbell),
        segment(*near.segment) {}
  const int task;
  bool lost = false;  // JobMembership::spare
  ShmOutbox out;
  Inbox in;
  shm::Doorbell* doorbell;
  const shm::Segment& segment;
  std::vector<Transfer*> pending;  // sends that wait, oldest first
};

class ShmTransport final : public Transport, public SharedMemory {
 public:
  ShmTransport(std::unique_ptr<Transport> inner, shm::Host host, int threads);
  ~ShmTransport() override;

  Ticket send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) override;
  std::byte* window(int peer, std::uint32_t channel, std::uint64_t bytes) override;
  std::size_t stream_from(int peer) const override { return near(peer)->out.stream_from(); }
  bool lends(int peer) const override { return near(peer) != nullptr; }
  std::optional<std::uint64_t> lend(std::span<const std::byte> bytes) const override;
  std::span<std::byte> borrowed(int peer, std::uint64_t number, std::uint64_t bytes) const override;
  Ticket receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) override;
  bool takes(int peer, std::uint64_t bytes) const override;
  bool take(int peer, std::uint32_t channel, std::span<std::byte> bytes) override;
  bool done(Ticket ticket) override;
  void idle(microseconds at_most) override;
  std::shared_ptr<std::byte> memory(std::uint64_t bytes, std::string_view what) override;
  std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) override;

  void abort(const Failure& failure) noexcept override;
  std::optional<Failure> failure() override { return inner_->failure(); }
  void close() override { inner_->close(); }
  std::unique_ptr<Transport> renewed(std::chrono::milliseconds deadline) override;
  WireCount sent() const override;
  std::uint64_t moved() const override { return static_cast<std::uint64_t>(sent_.bytes) + inner_->moved(); }
  std::vector<LinkCount> links() const override { return inner_->links(); }

 private:
  Peer* near(int peer) const;
  void check();
  void check_inner();
  Transfer* take();
  bool release(Transfer* transfer);
  bool give_up(Transfer& transfer);
  void count(std::span<const std::byte> bytes);
  ShmOutbox::Sent start(Peer& peer, Transfer& transfer);
  bool progress();
  bool send_more(Peer& peer);

  std::unique_ptr<Transport> inner_;
  shm::Host host_;
  const int threads_;  ///< of this task
  const void* const owner_ = this_thread();
  std::vector<std::unique_ptr<Peer>> peers_;  // by task; null: the task is not on this host
  std::vector<Peer*> near_;
  std::deque<Transfer> store_;
  std::vector<Transfer*> free_;
  std::vector<std::uint32_t> blocked_;  // for send_more(): the channels with a send that must wait
  std::uint32_t tests_ = 0;
  int inner_transfers_ = 0;  // transfers under way in the transport below
  bool moved_ = false;       // a transfer has been completed since idle() returned
  bool failed_ = false;
  WireCount sent_;  // messages through shared memory, without messages of the transport below
};

ShmTransport::ShmTransport(std::unique_ptr<Transport> inner, shm::Host host, int threads)
    : Transport({.name = inner->name(),
                 .task = inner->task(),
                 .tasks = inner->tasks(),
                 .shared_memory = this,
                 .membership = inner->membership()}),
      inner_(std::move(inner)),
      host_(std::move(host)),
      threads_(threads),
      peers_(static_cast<std::size_t>(inner_->tasks())) {
  for (shm::Neighbour& near : host_.neighbours) {
    auto& peer = peers_[near.task];
    peer = std::make_unique<Peer>(near, *host_.own, task());
    near_.push_back(peer.get());
  }
}

/// Destroying the transport below informs the other tasks that this task is gone. Then the destructor wakes sleeping
/// tasks, so that they notice it.
ShmTransport::~ShmTransport() {
  inner_.reset();
  for (Peer* peer : near_) peer->doorbell->ring(host_.fenced);
}

std::unique_ptr<Transport> ShmTransport::renewed(std::chrono::milliseconds deadline) {
  auto below = inner_->renewed(deadline);
  return below == nullptr ? nullptr : shared_memory_transport(std::move(below), threads_, deadline);
}

Peer* ShmTransport::near(int peer) const {
  FERRY_ASSERT(peer >= 0 && static_cast<std::size_t>(peer) < peers_.size(), "peer out of range");
  return peers_[peer].get();
}

void ShmTransport::check() {
  if (this_thread() != owner_)
    throw Error(Code::usage,
                "transport " + std::string(name()) + ": used from another thread than the one that made it")
        .hint("call run() on the thread that called connect()");
  if (failed_) check_inner();
}

/// Checks the transport below for failures and lost tasks. Throws if the job has failed.
void ShmTransport::check_inner() {
  const auto failure = inner_->failure();
  failed_ = failure.has_value();
  if (failure) throw error_of(*failure);
  std::erase_if(near_, [this](Peer* peer) { return peer->lost = is_lost(peer->task); });
}

Transfer* ShmTransport::take() {
  if (free_.empty()) free_.push_back(&store_.emplace_back());
  Transfer* transfer = free_.back();
  free_.pop_back();
  return transfer;
}

bool ShmTransport::release(Transfer* transfer) {
  free_.push_back(transfer);
  return true;
}

Ticket ShmTransport::send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) {
  check();
  Peer* to = near(peer);
  if (to == nullptr) {
    ++inner_transfers_;
    return inner_->send(peer, channel, bytes) | kInner;
  }
  if (to->lost) return kComplete;
  const bool at_once = bytes.size() <= shm::Cell::kInline || to->out.window(channel, bytes.size()) != nullptr;
  if (at_once && to->pending.empty() && to->out.send(channel, bytes, false) == ShmOutbox::Sent::complete) {
    count(bytes);
    to->doorbell->ring(host_.fenced);
    to->in.fetch_ahead();
    return kComplete;
  }
  Transfer* transfer = take();
  *transfer = {};
  transfer->sends = true;
  transfer->bytes = bytes;
  transfer->channel = channel;
  transfer->peer = peer;
  to->pending.push_back(transfer);
  send_more(*to);
  return reinterpret_cast<Ticket>(transfer);
}

std::byte* ShmTransport::window(int peer, std::uint32_t channel, std::uint64_t bytes) {
  check();
  Peer* to = near(peer);
  return to != nullptr && !to->lost && to->pending.empty() ? to->out.window(channel, bytes) : nullptr;
}

/// The number is the offset in the lender's segment.
std::optional<std::uint64_t> ShmTransport::lend(std::span<const std::byte> bytes) const {
  if (!host_.own || !host_.own->holds(bytes.data(), bytes.size())) return std::nullopt;
  return static_cast<std::uint64_t>(bytes.data() - host_.own->data());
}

std::span<std::byte> ShmTransport::borrowed(int peer, std::uint64_t number, std::uint64_t bytes) const {
  const shm::Segment& segment = near(peer)->segment;
  FERRY_ASSERT(number <= segment.bytes() && bytes <= segment.bytes() - number, "borrowed bytes lie outside");
  return {segment.data() + number, bytes};
}

void ShmTransport::count(std::span<const std::byte> bytes) {
  ++sent_.messages;
  sent_.bytes += static_cast<std::int64_t>(bytes.size());
}

/// Tries to send. If the receive's buffer is not in the segment, sends through the transport below.
ShmOutbox::Sent ShmTransport::start(Peer& peer, Transfer& transfer) {
  const ShmOutbox::Sent sent = peer.out.send(transfer.channel, transfer.bytes, !transfer.announced);
  transfer.announced = transfer.announced || sent == ShmOutbox::Sent::waits;
  if (sent == ShmOutbox::Sent::complete) {
    count(transfer.bytes);
    transfer.complete = true;
  }
  if (sent == ShmOutbox::Sent::elsewhere) {
    ++inner_transfers_;
    transfer.below = true;
    transfer.inner = inner_->send(transfer.peer, transfer.channel, transfer.bytes);
  }
  return sent;
}

/// Starts all waiting sends that can be started, in order within each channel. Returns whether there was one.
bool ShmTransport::send_more(Peer& peer) {
  if (!peer.out.has_cell()) return false;  // saves a loop over many waiting sends
  blocked_.clear();
  bool any = false;
  std::erase_if(peer.pending, [&](Transfer* transfer) {
    if (std::find(blocked_.begin(), blocked_.end(), transfer->channel) != blocked_.end()) return false;
    const bool told = transfer->announced;
    const ShmOutbox::Sent sent = start(peer, *transfer);
    if (sent == ShmOutbox::Sent::complete || transfer->announced != told) peer.doorbell->ring(host_.fenced);
    const bool gone = sent == ShmOutbox::Sent::complete || sent == ShmOutbox::Sent::elsewhere;
    if (!gone) blocked_.push_back(transfer->channel);
    any = any || gone;
    return gone;
  });
  return any;
}

Ticket ShmTransport::receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) {
  check();
  Peer* from = near(peer);
  if (from == nullptr || !from->in.takes(bytes.data(), bytes.size())) {
    if (from != nullptr) {
      from->in.skip(channel, bytes.size());
      from->doorbell->ring(host_.fenced);
    }
    ++inner_transfers_;
    return inner_->receive(peer, channel, bytes) | kInner;
  }
  if (from->lost) return kComplete;
  Transfer* transfer = take();
  transfer->sends = false;
  transfer->peer = peer;
  transfer->receiving.target = bytes.data();
  transfer->receiving.bytes = bytes.size();
  from->in.receive(channel, transfer->receiving);
  if (bytes.size() > shm::Cell::kInline) from->doorbell->ring(host_.fenced);
  return reinterpret_cast<Ticket>(transfer);
}

bool ShmTransport::takes(int peer, std::uint64_t bytes) const {
  return bytes <= shm::Cell::kInline && near(peer) != nullptr;
}

bool ShmTransport::take(int peer, std::uint32_t channel, std::span<std::byte> bytes) {
  Inbox& in = peers_[peer]->in;
  if (in.take(channel, bytes.data(), bytes.size())) {
    in.fetch_ahead();
    return moved_ = true;
  }
  if (++tests_ % kControlEvery == 0) check_inner();
  moved_ = progress() || moved_;
  return false;
}

bool ShmTransport::done(Ticket ticket) {
  if (ticket == kComplete) return true;
  if ((ticket & kInner) != 0) {
    if (!near_.empty()) moved_ = progress() || moved_;
    if (!inner_->done(ticket & ~kInner)) return false;
    --inner_transfers_;
    return true;
  }
  auto* transfer = reinterpret_cast<Transfer*>(ticket);
  Peer& peer = *peers_[transfer->peer];
  if (peer.lost) return give_up(*transfer);
  if (!transfer->sends) {
    if (!transfer->receiving.complete) moved_ = peer.in.handle_cells() || moved_;
    if (transfer->receiving.complete) return release(transfer);
  } else if (transfer->complete) {
    return release(transfer);
  }
  if (++tests_ % kControlEvery == 0) check_inner();
  moved_ = progress() || moved_;
  if (transfer->below && inner_->done(transfer->inner)) {
    transfer->complete = true;
    transfer->below = false;
    --inner_transfers_;
  }
  return (transfer->sends ? transfer->complete : transfer->receiving.complete) && release(transfer);
}

/// Ends a transfer with a lost task. The transfer is not reused, because the peer's lists may still contain it.
bool ShmTransport::give_up(Transfer& transfer) {
  if (std::exchange(transfer.below, false)) {
    static_cast<void>(inner_->done(transfer.inner));
    --inner_transfers_;
  }
  return true;
}

/// Makes progress with all neighbours. Returns whether there was any.
bool ShmTransport::progress() {
  bool any = false;
  for (Peer* peer : near_) {
    if (peer->in.handle_cells()) any = true;
    if (peer->in.has_unposted() && peer->in.post_more()) peer->doorbell->ring(host_.fenced);
    if (!peer->pending.empty() && send_more(*peer)) any = true;
  }
  return any;
}

/// Spins for about the time that sleeping and waking would cost, or only briefly if threads share cores. Then sleeps
/// until another task rings.
void ShmTransport::idle(microseconds at_most) {
  check();
  check_inner();
  if (near_.empty()) return inner_->idle(at_most);
  if (std::exchange(moved_, false) || at_most <= microseconds(0)) return;
  const Deadline spinning(system_clock(), host_.crowded ? kShortSpin : kLongSpin);
  while (!spinning.expired()) {
    if (progress()) return;
    spin_pause();
  }
  if (inner_transfers_ > 0) return inner_->idle(std::min(at_most, kLookBelowOften));
  host_.doorbell->prepare_sleep(host_.fenced);
  if (!progress()) host_.doorbell->sleep(std::min(at_most, kLookBelow));
  host_.doorbell->end_sleep();
  check_inner();
}

std::shared_ptr<std::byte> ShmTransport::memory(std::uint64_t bytes, std::string_view what) {
  return host_.store->take(bytes, what);
}

/// The next done(), take() or idle() handles messages that neighbours send meanwhile.
std::vector<std::string> ShmTransport::exchange(std::string_view mine, const Deadline& deadline) {
  return inner_->exchange(mine, deadline);
}

void ShmTransport::abort(const Failure& failure) noexcept {
  inner_->abort(failure);
  failed_ = true;
  for (Peer* peer : near_) peer->doorbell->ring(host_.fenced);
}

WireCount ShmTransport::sent() const {
  const WireCount below = inner_->sent();
  return {sent_.messages + below.messages, sent_.bytes + below.bytes};
}

}  // namespace

std::unique_ptr<Transport> shared_memory_transport(std::unique_ptr<Transport> inner, int threads,
                                                   std::chrono::milliseconds deadline) {
  try {
    shm::Host host = shm::find_neighbours(*inner, threads, Deadline(system_clock(), deadline));
    if (host.neighbours.empty()) return inner;
    return std::make_unique<ShmTransport>(std::move(inner), std::move(host), threads);
  } catch (const Error& error) {
    if (!inner->failure()) inner->abort({inner->task(), error.code(), error.text()});
    throw;
  }
}

}  // namespace ferry

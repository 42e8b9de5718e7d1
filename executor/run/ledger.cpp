#include "executor/run/ledger.hpp"

#include <exception>
#include <utility>

#include "base/error.hpp"

namespace ferry {

void Ledger::send(const Resolved& r, Traffic& moved) {
  const std::byte* bytes = r.link->written != nullptr ? std::exchange(r.link->written, nullptr) : r.input;
  start(r, transport_.send(r.link->peer, r.link->channel, {bytes, r.bytes}));
  ++moved.sent_messages;
  moved.sent_bytes += static_cast<std::int64_t>(r.bytes);
}

void Ledger::receive(const Resolved& r) {
  if ((r.flags & Resolved::kTaken) != 0) return;
  start(r, transport_.receive(r.link->peer, r.link->channel, {r.output, r.bytes}));
}

void Ledger::start(const Resolved& r, Ticket ticket) {
  FERRY_ASSERT(!r.link->pending, "a channel is used again before its wait");
  if (ticket == kComplete) return;
  r.link->ticket = ticket;
  add_pending(r);
}

void Ledger::start_collective(const Resolved& r) {
  FERRY_ASSERT(!r.link->pending, "a collective is started again before its wait");
  r.link->before = r.link->call->moved();
  r.link->call->start();
  if (!progress_call(*r.link->call)) add_pending(r);
}

void Ledger::add_pending(const Resolved& r) {
  r.link->pending = true;
  r.link->since = r.plan;
  pending_.push_back(r.link);
}

/// Sets in_collective_ during progress(). progress() splits folds into chunks, and poll_quietly() is called between the
/// chunks; polling there would re-enter the same fold.
bool Ledger::progress_call(GroupCall& call) {
  const struct Folding {
    explicit Folding(bool& now) : now(now) { now = true; }
    ~Folding() { now = false; }
    bool& now;
  } folding(in_collective_);
  return call.progress();
}

bool Ledger::arrived(Link& link) {
  if (!link.pending) return true;
  if (!(link.call != nullptr ? progress_call(*link.call) : transport_.done(link.ticket))) return false;
  link.pending = false;
  pending_.erase(std::find(pending_.begin(), pending_.end(), &link));
  return true;
}

bool Ledger::poll() {
  const std::size_t before = pending_.size();
  for (std::size_t i = 0; i < pending_.size();)
    if (!arrived(*pending_[i])) ++i;
  return pending_.size() != before;
}

void Ledger::poll_quietly() noexcept {
  if (in_collective_) return;
  try {
    static_cast<void>(poll());
  } catch (const std::exception&) {
  }
}

void Ledger::count_collective(const Link& link, Traffic& moved) {
  const Traffic& before = link.before;
  const Traffic& after = link.call->moved();
  moved.sent_messages += after.sent_messages - before.sent_messages;
  moved.sent_bytes += after.sent_bytes - before.sent_bytes;
  moved.received_messages += after.received_messages - before.received_messages;
  moved.received_bytes += after.received_bytes - before.received_bytes;
}

}  // namespace ferry

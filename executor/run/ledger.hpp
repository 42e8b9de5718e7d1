// Ledger: the messages and collectives of a task that are in flight.
#pragma once

#include <algorithm>
#include <vector>

#include "comm/transport.hpp"
#include "executor/run/resolved.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Starts transfers and makes progress with them, oldest first. Used by walker 0 alone, which owns the transport.
class Ledger {
 public:
  Ledger(Transport& transport, std::size_t links) : transport_(transport), shared_memory_(transport.shared_memory()) {
    pending_.reserve(links);
  }

  void send(const Resolved& r, Traffic& moved);
  void receive(const Resolved& r);
  void start_collective(const Resolved& r);
  /// For a receive that is not started (Resolved::kTaken): true once the message has arrived in the output.
  [[nodiscard]] bool try_take(const Resolved& r) {
    return shared_memory_->take(r.link->peer, r.link->channel, {r.output, r.bytes});
  }
  /// Makes progress with the link's transfer; true once nothing is pending on the link.
  bool arrived(Link& link);
  /// Makes progress with all transfers; true if one has completed.
  bool poll();
  /// Like poll(), but ignores errors: the next wait reports them. Called between the chunks of a kernel.
  void poll_quietly() noexcept;
  /// Adds the messages of the last run of a collective to `moved`.
  static void count_collective(const Link& link, Traffic& moved);

  [[nodiscard]] bool empty() const { return pending_.empty(); }
  /// The links with transfers in flight, oldest first.
  [[nodiscard]] const std::vector<Link*>& pending() const { return pending_; }

 private:
  void start(const Resolved& r, Ticket ticket);
  void add_pending(const Resolved& r);
  bool progress_call(GroupCall& call);

  Transport& transport_;
  SharedMemory* const shared_memory_;  // null if the transport has none
  std::vector<Link*> pending_;
  bool in_collective_ = false;
};

}  // namespace ferry

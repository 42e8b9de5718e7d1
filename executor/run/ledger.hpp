// Ledger: the messages and collectives of a task that are in flight.
#pragma once

#include <algorithm>
#include <vector>

#include "comm/transport.hpp"
#include "executor/run/resolved.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// Starts transfers and makes progress on them, on the oldest first. Used by walker 0 alone, which owns the transport.
class Ledger {
 public:
  Ledger(Transport& transport, std::size_t links) : transport_(transport) { pending_.reserve(links); }

  void send(const Resolved& r, Traffic& moved);
  void receive(const Resolved& r);
  void start_collective(const Resolved& r);
  /// For a receive with Resolved::kTaken, which is never started: true once the message has arrived and lies in the
  /// output.
  [[nodiscard]] bool taken(const Resolved& r) {
    return transport_.take(r.link->peer, r.link->channel, {r.output, r.bytes});
  }
  /// Makes progress on one transfer; true once nothing is pending on this link.
  bool arrived(Link& link);
  /// Makes progress on all transfers; true when one of them has completed.
  bool poll();
  /// poll() that ignores errors, as the next wait reports them. Called between the chunks of a kernel; does nothing
  /// when these are the folds of a collective.
  void poll_quietly() noexcept;
  /// Adds to `moved` what the last run of a collective has moved.
  static void count_collective(const Link& link, Traffic& moved);

  [[nodiscard]] bool empty() const { return pending_.empty(); }
  /// Oldest first.
  [[nodiscard]] const std::vector<Link*>& pending() const { return pending_; }

 private:
  void start(const Resolved& r, Ticket ticket);
  void enter(const Resolved& r);
  bool move_on(GroupCall& call);

  Transport& transport_;
  std::vector<Link*> pending_;
  bool in_collective_ = false;
};

}  // namespace ferry

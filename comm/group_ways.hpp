// The ways to carry out a collective, and what they share. prepare_call() (comm/group.hpp) picks one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/group.hpp"

namespace ferry {

/// Step by step as the schedule says.
[[nodiscard]] std::unique_ptr<GroupCall> stepwise_call(Transport& transport, const GroupSpec& spec);

/// A one-shot all-reduce: each member gives its whole input to every other.
[[nodiscard]] std::unique_ptr<GroupCall> one_shot_call(Transport& transport, const GroupSpec& spec);

/// Transfers in flight.
class Tickets {
 public:
  void reserve(std::size_t count) { tickets_.reserve(count); }
  void add(Ticket ticket) {
    if (ticket != kComplete) tickets_.push_back(ticket);
  }
  [[nodiscard]] bool empty() const { return tickets_.empty(); }
  /// Drops those that are done; true when none is left.
  [[nodiscard]] bool done(Transport& transport);

 private:
  std::vector<Ticket> tickets_;
};

/// The sum of contributions of all members.
struct TiledFold {
  /// Where the sum is written.
  struct Target {
    std::byte* at = nullptr;
    bool around = false;  ///< best written around the caches
  };

  Fold fold;
  std::size_t element = 1;                      ///< bytes
  std::vector<const std::byte*> contributions;  ///< in the order of the members, the own one among them
  std::vector<Target> targets;                  ///< the own output first: it may be any of the contributions

  /// Makes bytes [first, last) of the sum.
  void run(std::size_t first, std::size_t last) const;
};

}  // namespace ferry

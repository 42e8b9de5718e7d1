// Lane: matches the sends of one task with the receives of another task, within a process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/system/event_count.hpp"

namespace ferry::inproc {

class Lane;

/// A send or a receive that waits for its other side.
struct Transfer {
  const std::byte* source = nullptr;  ///< of a send
  std::byte* target = nullptr;        ///< of a receive
  std::size_t bytes = 0;
  std::uint32_t channel = 0;
  Lane* lane = nullptr;
  Transfer* next = nullptr;
  bool posted = false;  ///< it has a ticket that is not done
  std::atomic<bool> complete{false};
};

/// A send (with a source) or a receive (with a target) that a task passes to a lane.
struct Offer {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::size_t bytes = 0;
  bool is_send = false;
};

/// Transfers between a task of this process and a task of another process. The relay (relay.cpp), which sends them over
/// the transport between the processes, takes them from here. Thread-safe.
class Outbox {
 public:
  void put(Transfer* transfer);
  /// Removes and returns all transfers, in the order in which they were put.
  [[nodiscard]] std::vector<Transfer*> take();
  /// Notified when there is something for the relay to do.
  [[nodiscard]] EventCount& events() { return events_; }

 private:
  std::mutex mutex_;
  std::vector<Transfer*> transfers_;
  EventCount events_;
};

/// The messages from one task to another, in order for each channel. Of send and receive, the side that comes second
/// copies the bytes. Thread-safe; the lock is held for a look-up, never while bytes are copied.
class Lane {
 public:
  /// The result of an offer.
  struct OfferResult {
    bool refused = false;        ///< the job has failed: nothing was done
    Transfer* other = nullptr;   ///< the waiting other side, taken out of the queue and counted in its task's copies
    Transfer* posted = nullptr;  ///< no other side yet: the offer was queued
  };

  /// The tasks of a lane, and the state of their job that the lane uses.
  struct Ends {
    int from = 0, to = 0;
    const std::atomic<bool>& failed;  ///< whether the job has failed
    std::atomic<int>& sender_copies;  ///< number of the sender's buffers that other threads are reading
    std::atomic<int>& receiver_copies;
    /// Set if one of the two tasks is in another process. The lane then puts the offers of this process's task there.
    Outbox* outbox = nullptr;
  };
  explicit Lane(const Ends& ends) : ends_(ends) {}

  [[nodiscard]] int from() const { return ends_.from; }
  [[nodiscard]] int to() const { return ends_.to; }

  [[nodiscard]] OfferResult offer(std::uint32_t channel, const Offer& mine);
  /// Makes a complete transfer free for reuse.
  void release(Transfer* transfer);
  /// After the job has failed: waits until no thread is in offer(). All later offers are refused.
  void wait_until_unused() { const std::lock_guard lock(mutex_); }

 private:
  /// Waiting sends or waiting receives, never both.
  struct Queue {
    Transfer* first = nullptr;
    Transfer* last = nullptr;
    bool of_sends = false;
  };
  Transfer* take(std::uint32_t channel, const Offer& offer);
  static void push(Queue& queue, Transfer* transfer);
  static Transfer* pop(Queue& queue);

  const Ends ends_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Queue> queues_;
  std::forward_list<Transfer>
      store_;  // a list, as most lanes never have a transfer, and an empty list allocates nothing
  Transfer* free_ = nullptr;
};

}  // namespace ferry::inproc

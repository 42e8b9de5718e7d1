// Lane: where the sends of one task meet the receives of another, within a process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace ferry::inproc {

class Lane;

/// One side of a message that waits for the other side.
struct Transfer {
  const std::byte* source = nullptr;  ///< of a send
  std::byte* target = nullptr;        ///< of a receive
  std::size_t bytes = 0;
  Lane* lane = nullptr;
  Transfer* next = nullptr;
  bool posted = false;  ///< a ticket for it is out
  std::atomic<bool> complete{false};
};

/// A send (with a source) or a receive (with a target), as it comes to a lane.
struct Offer {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::size_t bytes = 0;
  bool is_send = false;
};

/// The messages from one task to another, in order for each channel. Whoever comes second copies. Thread-safe; the lock
/// is held for a look-up, never while bytes are copied.
class Lane {
 public:
  /// What an offer met.
  struct Meeting {
    bool refused = false;        ///< the job has failed: nothing was done
    Transfer* other = nullptr;   ///< the other side, taken out of the queue: its task is counted as being copied
    Transfer* posted = nullptr;  ///< nobody yet: the offer was queued
  };

  /// `failed`: of the job. `sender_copies`, `receiver_copies`: how many buffers of these tasks others copy right now.
  Lane(const std::atomic<bool>& failed, std::atomic<int>& sender_copies, std::atomic<int>& receiver_copies)
      : failed_(failed), sender_copies_(sender_copies), receiver_copies_(receiver_copies) {}

  [[nodiscard]] Meeting offer(std::uint32_t channel, const Offer& mine);
  /// Makes a complete transfer free for reuse.
  void release(Transfer* transfer);
  /// Once the job has failed: returns when nobody can meet any more.
  void settle() { const std::lock_guard lock(mutex_); }

 private:
  /// Sends or receives, never both.
  struct Queue {
    Transfer* first = nullptr;
    Transfer* last = nullptr;
    bool of_sends = false;
  };
  Transfer* take();
  static void push(Queue& queue, Transfer* transfer);
  static Transfer* pop(Queue& queue);

  const std::atomic<bool>& failed_;
  std::atomic<int>& sender_copies_;
  std::atomic<int>& receiver_copies_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Queue> queues_;
  std::deque<Transfer> store_;
  Transfer* free_ = nullptr;
};

}  // namespace ferry::inproc

// Transport: moves bytes between the tasks of a job. The interface is deliberately small: channels of bytes, an
// exchange of texts, and failures. Collectives are built on top of it (comm/group.hpp); the executor does the waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/system/clock.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Identifies a transfer that was started. A ticket is invalid after done() has returned true for it.
using Ticket = std::uint64_t;
/// The ticket of a transfer that completed at once. done() returns true for it, but need not be called.
inline constexpr Ticket kComplete = 0;

/// The first channel of direct calls, which have no plan. Plans number their channels from 0, so the two ranges do not
/// overlap.
inline constexpr std::uint32_t kFirstDirectChannel = 1 << 20;

/// Why the job stops: the task that failed first, and its error.
struct Failure {
  int task = -1;
  Code code = Code::bug;
  std::string text;
  bool said = false;  ///< the task itself prints the text
  /// The task that lost its connection to `task`; possibly neither of the two tasks has failed. -1: `task` itself
  /// failed.
  int unreached_by = -1;
};

/// The messages and bytes that were actually sent. Each chunk of a message counts as one message; control messages also
/// count.
struct WireCount {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  WireCount operator-(const WireCount& other) const { return {messages - other.messages, bytes - other.bytes}; }
};

/// The traffic of a connection to a task of another host since it was made, as the system counts it.
struct LinkCount {
  int peer = 0;
  std::int64_t bytes = 0;  ///< acknowledged by the peer's system
  Duration sending{};  ///< time with bytes in flight or waiting for the network, but not for buffer space at the peer
  std::int64_t messages = 0;
  Duration round_trip{};  ///< the shortest recent one
};

/// Callbacks of a transport for a job that can continue without some of its tasks (JobMembership::spare). The transport
/// calls them on the thread that calls the transport.
class Losses {
 public:
  struct Loss {
    int task = -1;
    std::string why;
  };
  virtual ~Losses() = default;
  /// Returns tasks that are lost although their connections are open.
  [[nodiscard]] virtual std::vector<Loss> found_lost() = 0;
  /// Called when a task is lost: from now on the job continues without the task.
  virtual void lost(const Loss& loss) = 0;
};

/// Memory that the tasks of a host share: an optional part of a transport (Transport::shared_memory).
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  /// Whether this task and `peer` can read and write memory that the other lends. Both tasks always get the same
  /// answer.
  [[nodiscard]] virtual bool lends(int peer) const = 0;
  /// Allows the tasks for which lends() is true to read and write `bytes` in place. Returns the number that these tasks
  /// pass to borrowed(); nothing if `bytes` are not in memory(). The tasks order their accesses by messages.
  [[nodiscard]] virtual std::optional<std::uint64_t> lend(std::span<const std::byte> bytes) const = 0;
  /// The bytes that `peer` lent under that number. Error(bug) if they are outside the memory that it can lend.
  [[nodiscard]] virtual std::span<std::byte> borrowed(int peer, std::uint64_t number, std::uint64_t bytes) const = 0;
  /// Memory that other tasks of this host can write, so that messages are received into it without an extra copy.
  /// Zeroed, aligned to 4096 bytes, and valid as long as somebody owns it, even after the transport is gone.
  /// Error(resource) with `what` and the size when there is not enough. Must not be called after a failure.
  [[nodiscard]] virtual std::shared_ptr<std::byte> memory(std::uint64_t bytes, std::string_view what) = 0;
  /// Returns the receiver's memory for the next message on that channel, if this task can write there now. A caller
  /// that writes the message there and then sends exactly these bytes saves a copy. Null: send from your own memory.
  [[nodiscard]] virtual std::byte* window(int peer, std::uint32_t channel, std::uint64_t bytes) = 0;
  /// The size in bytes from which on a write to a peer's memory should bypass the caches (base/system/cache_lines.hpp).
  /// It depends on how near the peer's core is now, so it may change from call to call. Call it only if lends(peer).
  [[nodiscard]] virtual std::size_t stream_from(int peer) const = 0;
  /// Whether messages of this size from that peer can be fetched by take(), without a receive(). The answer holds for
  /// the life of the transport. A channel may use take() and receive() in turn, but not take() while a receive on the
  /// channel is in progress.
  [[nodiscard]] virtual bool takes(int peer, std::uint64_t bytes) const = 0;
  /// Makes progress. Returns true when the next message of that channel has arrived, and copies it to `bytes`. Call it
  /// only if takes() is true.
  [[nodiscard]] virtual bool take(int peer, std::uint32_t channel, std::span<std::byte> bytes) = 0;
};

/// A job that continues without some of its tasks: an optional part of a transport (Transport::membership).
class JobMembership {
 public:
  virtual ~JobMembership() = default;
  /// From now on the job continues without the lost tasks among `tasks`. A task is lost if its process or connection
  /// ends, or if `losses` has found it. A transfer with a lost task is done at once, with undefined bytes, and
  /// exchange() returns an empty text for the task. The tasks that are not in `tasks` decide whether a task is lost;
  /// task 0 never is. A new call replaces `tasks` and `losses` of an earlier call; tasks that are lost stay lost. All
  /// tasks call it with the same `tasks`, and wait for one another.
  virtual void spare(std::span<const int> tasks, Losses& losses, const Deadline& deadline) = 0;
  [[nodiscard]] virtual bool is_lost(int task) const = 0;
};

/// One task's end of a job's transport. The k-th send to a peer on a channel matches the peer's k-th receive from this
/// task on that channel; both have the same number of bytes. Only idle(), exchange() and renewed() block.
///
///     auto ends = inproc_transports(2);
///     std::array<int, 3> in{}, out{1, 2, 3};
///     Ticket sending = ends[0]->send(1, 7, std::as_bytes(std::span(out)));
///     Ticket receiving = ends[1]->receive(0, 7, std::as_writable_bytes(std::span(in)));
///     while (!ends[1]->done(receiving)) ends[1]->idle(1ms);  // with a deadline of the caller's
///     while (!ends[0]->done(sending)) ends[0]->idle(1ms);
///     for (auto& end : ends) end->close();
///
/// A task counts as failed if its end is destroyed or its process exits without close(); the others are informed.
///
/// Thread safety: if any_thread() is true, all functions may be called from any thread; otherwise only from the thread
/// that made the transport. Errors: once the job has failed, functions that transfer or wait throw Error(peer_lost)
/// with the text of the first failure.
class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  [[nodiscard]] std::string_view name() const { return traits_.name; }
  [[nodiscard]] int task() const { return traits_.task; }
  [[nodiscard]] int tasks() const { return traits_.tasks; }
  [[nodiscard]] bool any_thread() const { return traits_.any_thread; }
  /// Null if this transport has none. Both live as long as the transport.
  [[nodiscard]] SharedMemory* shared_memory() const { return traits_.shared_memory; }
  [[nodiscard]] JobMembership* membership() const { return traits_.membership; }

  /// Starts to send; `bytes` must not change until done.
  [[nodiscard]] virtual Ticket send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) = 0;
  /// Starts to receive into `bytes`, which must not be touched until done.
  [[nodiscard]] virtual Ticket receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) = 0;
  /// Makes progress. Returns true, once, when the transfer is complete.
  [[nodiscard]] virtual bool done(Ticket ticket) = 0;
  /// Blocks the calling thread until progress is likely or `at_most` has passed. Call it only after done() or take()
  /// has returned false for all transfers that the caller waits for. It may return early, so test them again
  /// afterwards. Bytes that arrive between these tests and idle() are not missed.
  virtual void idle(std::chrono::microseconds at_most) = 0;

  /// Returns the texts `mine` of all tasks, in task order. All tasks make the same calls in the same order.
  /// Error(stalled) at the deadline names the tasks that did not call; Error(peer_lost) names the tasks that have
  /// closed.
  [[nodiscard]] virtual std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) = 0;

  /// Informs all tasks that this task has failed; the first failure wins. Safe in any state, from the owning thread. A
  /// message that arrives later is dropped. Until renewed() has returned, transfers in flight may still read and write
  /// their buffers if the transport cannot cancel them (in MPI: sends, and receives of a message that is arriving).
  virtual void abort(const Failure& failure) noexcept = 0;
  /// The first failure of the job, once it is known here.
  [[nodiscard]] virtual std::optional<Failure> failure() = 0;
  /// Informs the other tasks that this task has finished the job: its silence from now on is not a failure.
  virtual void close() = 0;

  [[nodiscard]] virtual WireCount sent() const = 0;
  /// A number that changes while messages move, also within a long message if the transport sees its pieces. Callers
  /// use it to distinguish a slow message from a stall.
  [[nodiscard]] virtual std::uint64_t moved() const { return 0; }
  /// The counts of this task's connections to tasks of other hosts, if the system counts their traffic. Empty over MPI,
  /// because MPI's connections are private. Makes a system call for each connection.
  [[nodiscard]] virtual std::vector<LinkCount> links() const { return {}; }

  /// Call it after the job has failed: returns this task's end of a new job of the same tasks. All tasks call it, each
  /// when it has learned of the failure; no task closes the failed job before renewed() has returned. From then on no
  /// transfer of the failed job touches a buffer. Null if the transport cannot start a new job. Error(stalled) if the
  /// other tasks do not call, Error(peer_lost) if a task has left.
  [[nodiscard]] virtual std::unique_ptr<Transport> renewed(std::chrono::milliseconds deadline) {
    static_cast<void>(deadline);
    return nullptr;
  }

  // The same for all transports, with or without shared memory and membership:
  [[nodiscard]] bool lends(int peer) const { return traits_.shared_memory && traits_.shared_memory->lends(peer); }
  /// SharedMemory::memory(). Null if the transport has no shared memory: then any memory will do.
  [[nodiscard]] std::shared_ptr<std::byte> memory(std::uint64_t bytes, std::string_view what) const {
    return traits_.shared_memory ? traits_.shared_memory->memory(bytes, what) : nullptr;
  }
  [[nodiscard]] bool is_lost(int task) const { return traits_.membership && traits_.membership->is_lost(task); }

 protected:
  struct Traits {
    std::string_view name;  ///< "inproc", "mpi", …; a literal
    int task = 0, tasks = 1;
    bool any_thread = false;
    SharedMemory* shared_memory = nullptr;
    JobMembership* membership = nullptr;
  };
  explicit Transport(const Traits& traits) : traits_(traits) {}

 private:
  const Traits traits_;
};

/// Makes `tasks` transports in this process, one for each task, for virtual tasks and tests (comm/inproc). Any thread
/// may call them.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> inproc_transports(int tasks);

}  // namespace ferry
#pragma GCC visibility pop

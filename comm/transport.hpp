// Transport: moves bytes between the tasks of a job. Narrow on purpose: channels of bytes, one control exchange,
// failure. Collectives stand above it (comm/group.hpp), waiting stands in the executor.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/system/clock.hpp"

namespace ferry {

/// A transfer that was started. Freed by the transport once done() has returned true.
using Ticket = std::uint64_t;
/// That of a transfer that was complete when it began: done() gives true, and need not be asked.
inline constexpr Ticket kComplete = 0;

/// Why the job stops: who failed first, and what that task said.
struct Failure {
  int task = -1;
  Code code = Code::bug;
  std::string text;
};

/// What went over the wire, chunks and headers included.
struct WireCount {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  WireCount operator-(const WireCount& other) const { return {messages - other.messages, bytes - other.bytes}; }
};

/// One task's end. The k-th send to a peer on a channel meets the k-th receive from it on that channel; both have the
/// same number of bytes. Nothing here blocks, but for idle() and exchange().
///
///     auto ends = inproc_transports(2);
///     std::array<int, 3> in{}, out{1, 2, 3};
///     Ticket sending = ends[0]->send(1, 7, std::as_bytes(std::span(out)));
///     Ticket receiving = ends[1]->receive(0, 7, std::as_writable_bytes(std::span(in)));
///     while (!ends[1]->done(receiving)) ends[1]->idle(1ms);  // with a deadline of the caller's
///     while (!ends[0]->done(sending)) ends[0]->idle(1ms);
///     for (auto& end : ends) end->close();
///
/// An end that is destroyed, or a process that exits, before close() has failed: the others hear of it.
///
/// Thread safety: if any_thread() is true all functions may be called from any thread; else only from the thread that
/// made it. Errors: every function throws Error(peer_lost) once the job has failed, with the text of the first failure.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;  ///< "inproc", "mpi", …
  [[nodiscard]] virtual int task() const = 0;
  [[nodiscard]] virtual int tasks() const = 0;
  [[nodiscard]] virtual bool any_thread() const = 0;

  /// Starts to send; `bytes` must not change until done.
  [[nodiscard]] virtual Ticket send(int peer, std::uint32_t channel, std::span<const std::byte> bytes) = 0;
  /// Where the next message on that channel will lie, when it can be written there right now: who writes it there and
  /// sends exactly these bytes saves a copy. Null: it is sent from memory of one's own.
  [[nodiscard]] virtual std::byte* window(int peer, std::uint32_t channel, std::uint64_t bytes) {
    static_cast<void>(peer), static_cast<void>(channel), static_cast<void>(bytes);
    return nullptr;
  }
  /// From so many bytes on a window is best written around the caches (base/system/stream_copy.hpp), by how near the
  /// peer is now: it may change from call to call. Where there are windows.
  [[nodiscard]] virtual std::size_t stream_from(int peer) const {
    static_cast<void>(peer);
    return std::numeric_limits<std::size_t>::max();
  }
  /// Whether this task and `peer` read and write what the other lends; both say the same, at any time.
  [[nodiscard]] virtual bool lends(int peer) const {
    static_cast<void>(peer);
    return false;
  }
  /// Lets the tasks that it lends() to read and write `bytes` where they lie: the number tells their borrowed() where.
  /// None when they do not lie in memory(). Who does what when, the tasks agree on by messages.
  [[nodiscard]] virtual std::optional<std::uint64_t> lend(std::span<const std::byte> bytes) const {
    static_cast<void>(bytes);
    return std::nullopt;
  }
  /// The bytes that `peer` lent by that number. Error(bug) when they are not within what it can lend.
  [[nodiscard]] virtual std::span<std::byte> borrowed(int peer, std::uint64_t number, std::uint64_t bytes) const {
    static_cast<void>(peer), static_cast<void>(number), static_cast<void>(bytes);
    return {};
  }
  /// Starts to receive into `bytes`, which must not be touched until done.
  [[nodiscard]] virtual Ticket receive(int peer, std::uint32_t channel, std::span<std::byte> bytes) = 0;
  /// Whether messages of so many bytes from that peer come without a receive(): take() gets them. The same for the life
  /// of the transport. On one channel they may take turns, but none is taken while a receive there is under way.
  [[nodiscard]] virtual bool takes(int peer, std::uint64_t bytes) const {
    static_cast<void>(peer), static_cast<void>(bytes);
    return false;
  }
  /// Makes progress; true when the next message of that channel has come, which is then in `bytes`. Where takes().
  [[nodiscard]] virtual bool take(int peer, std::uint32_t channel, std::span<std::byte> bytes) {
    static_cast<void>(peer), static_cast<void>(channel), static_cast<void>(bytes);
    return false;
  }
  /// Makes progress; true once when the transfer is complete.
  [[nodiscard]] virtual bool done(Ticket ticket) = 0;
  /// Blocks the calling thread until progress is likely or `at_most` has passed: how this transport waits when nothing
  /// is to be done. Call it only after done() or take() was false for all that one waits for, and test again after it:
  /// it may return early, and what came in between those calls is not missed.
  virtual void idle(std::chrono::microseconds at_most) = 0;

  /// Memory to receive into without a copy on the way: that which other tasks of this host can write, too. Zeroed, at a
  /// multiple of 4096, valid as long as somebody owns it, even without the transport. Null: any memory is as good.
  /// Error(resource) with `what` and the bytes when there is not so much. Not for tasks that have failed.
  [[nodiscard]] virtual std::shared_ptr<std::byte> memory(std::uint64_t bytes, std::string_view what) {
    static_cast<void>(bytes), static_cast<void>(what);
    return nullptr;
  }

  /// Everybody's `mine`, in task order. All tasks call it in the same order of calls. Error(stalled) at the deadline
  /// names the tasks that did not come.
  [[nodiscard]] virtual std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) = 0;

  /// Tells all tasks that this one has failed; the first failure wins. Safe in any state, from the owning thread. No
  /// message that comes later is written anywhere. But transfers that were under way may still read and write their
  /// buffers, where it cannot be helped (MPI takes no send back, and no receive whose message is arriving), until
  /// renewed() has returned.
  virtual void abort(const Failure& failure) noexcept = 0;
  /// The first failure of the job, once it is known here.
  [[nodiscard]] virtual std::optional<Failure> failure() = 0;
  /// Says that this task is done with the job: its silence from now on is no failure.
  virtual void close() = 0;

  [[nodiscard]] virtual WireCount sent() const = 0;

  /// After the job has failed: this task's end of a job that the same tasks begin anew. All of them call it, each when
  /// it has heard of the failure. The failed job stays as it is, and its transfers touch no buffer any more; nobody
  /// closes it before this has returned. Null where it cannot begin anew. Error(stalled) when the others do not come,
  /// Error(peer_lost) when one has left.
  [[nodiscard]] virtual std::unique_ptr<Transport> renewed(std::chrono::milliseconds deadline) {
    static_cast<void>(deadline);
    return nullptr;
  }
};

/// `tasks` ends in this process, for virtual tasks and tests (comm/inproc). Any thread may call them.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> inproc_transports(int tasks);

}  // namespace ferry

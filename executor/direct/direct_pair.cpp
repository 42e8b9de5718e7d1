#include "executor/direct/direct_pair.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace ferry {
namespace {

// Channels of the group.
constexpr std::uint32_t kHeadChannel = 1, kAnswerChannel = 2, kValueChannel = 3;
/// The number of messages of a direction that move at the same time, so that the next one has started when one is done.
constexpr std::size_t kMessagesAtOnce = 8;

/// The sender's description of a message. It contains the values if they fit.
struct PairHead {
  static constexpr std::size_t kRoom = 40;
  std::uint64_t stamp = 0;
  std::array<std::byte, kRoom> values{};
};

/// One message, as both ends see it.
struct PairMessage {
  DType dtype = DType::uint8;
  std::size_t bytes = 0;
  int from = 0, to = 0;      ///< members of the group
  std::uint64_t number = 0;  ///< counts the messages between the two, in this direction
};

/// The common part of both ends. They exchange descriptions of the message, and then the values move. All values of a
/// direction use one channel, so they move in the order of the messages.
class PairRun : public DirectRun {
 public:
  PairRun(DirectGroup& group, const source_location& at, const PairMessage& message)
      : DirectRun(group, at),
        message_(message),
        group_(group),
        sends_(message.from == group.member()),
        call_key_(Hasher(group.call_key(0)).add(message.from).add(message.to).add(message.number).digest()),
        stamp_(Hasher(call_key_).add(static_cast<int>(message.dtype)).add(message.bytes).digest()) {}

  bool progress() final {
    if (!agreed_) {
      if (!talk_.done(transport()) || other_stamp() != stamp_) return false;
      agreed_ = true;
    }
    PairCounts& pair = group_.pair(peer());
    std::uint64_t& moved = sends_ ? pair.moved_sends : pair.moved_receives;
    if (!moving_ && moved != message_.number) return false;
    if (!std::exchange(moving_, true)) {
      ++moved;
      if (message_.bytes > PairHead::kRoom) values_.add(start_values());
    }
    if (!values_.done(transport())) return false;
    finish();
    return true;
  }

  /// All messages of a direction are in one queue. Its number is greater than the channel numbers, which are the queues
  /// of collective calls.
  Queue queue() const final {
    const auto direction = static_cast<std::uint64_t>(2 * peer() + (sends_ ? 1 : 0));
    return {.number = (std::uint64_t{1} << 32U) + direction, .at_once = kMessagesAtOnce};
  }

  Awaited awaited() const final {
    const std::string elements = std::to_string(message_.bytes / size_of(message_.dtype));
    return {.text = (sends_ ? "send of " : "receive of ") + std::string(name_of(message_.dtype)) + "[" + elements +
                    "], message " + std::to_string(message_.number + 1) + " from task " +
                    std::to_string(task(message_.from)) + " to task " + std::to_string(task(message_.to)) + ", at " +
                    line(),
            .collective_key = stamp_,
            .tasks = {task(peer())},
            .call_key = call_key_};
  }

 protected:
  [[nodiscard]] Transport& transport() const { return group_.job().transport(); }
  [[nodiscard]] int peer() const { return sends_ ? message_.to : message_.from; }
  [[nodiscard]] std::int32_t task(int member) const { return group_.tasks()[member]; }
  [[nodiscard]] const PairMessage& message() const { return message_; }
  /// send_description() sends a description of the message, receive_description() receives one.
  void send_description(std::uint32_t channel, std::span<const std::byte> bytes) {
    talk_.add(transport().send(task(peer()), group_.channel(channel), bytes));
  }
  void receive_description(std::uint32_t channel, std::span<std::byte> bytes) {
    talk_.add(transport().receive(task(peer()), group_.channel(channel), bytes));
  }
  [[nodiscard]] const std::uint64_t& stamp() const { return stamp_; }
  [[nodiscard]] std::uint32_t value_channel() const { return group_.channel(kValueChannel); }
  [[nodiscard]] CopyMemory& copies() const { return group_.copies(); }

 private:
  /// The stamp that the other end has sent.
  [[nodiscard]] virtual std::uint64_t other_stamp() const = 0;
  /// Starts to move the values.
  [[nodiscard]] virtual Ticket start_values() = 0;
  virtual void finish() {}

  const PairMessage message_;
  DirectGroup& group_;
  const bool sends_;
  const std::uint64_t call_key_, stamp_;
  Tickets talk_, values_;
  bool agreed_ = false, moving_ = false;
};

class SendRun final : public PairRun {
 public:
  SendRun(DirectGroup& group, const source_location& at, const PairMessage& message, const std::byte* values)
      : PairRun(group, at, message), values_(values) {
    head_.stamp = stamp();
    if (message.bytes > 0 && message.bytes <= PairHead::kRoom) std::memcpy(head_.values.data(), values, message.bytes);
    receive_description(kAnswerChannel, std::as_writable_bytes(std::span(&answer_, 1)));
    send_description(kHeadChannel, std::as_bytes(std::span(&head_, 1)));
  }

 private:
  [[nodiscard]] std::uint64_t other_stamp() const override { return answer_; }
  [[nodiscard]] Ticket start_values() override {
    return transport().send(task(peer()), value_channel(), {values_, message().bytes});
  }

  const std::byte* const values_;
  PairHead head_;
  std::uint64_t answer_ = 0;
};

class ReceiveRun final : public PairRun {
 public:
  ReceiveRun(DirectGroup& group, const source_location& at, const PairMessage& message, std::byte* values)
      : PairRun(group, at, message), values_(values) {
    receive_description(kHeadChannel, std::as_writable_bytes(std::span(&head_, 1)));
    send_description(kAnswerChannel, std::as_bytes(std::span(&stamp(), 1)));
  }

 private:
  [[nodiscard]] std::uint64_t other_stamp() const override { return head_.stamp; }
  /// Receives into memory that the sender can write, if the transport has such memory.
  [[nodiscard]] Ticket start_values() override {
    std::byte* target = values_;
    if (transport().lends(task(peer())) && !transport().shared_memory()->lend({values_, message().bytes})) {
      copy_ = copies().take(message().bytes, transport());
      target = copy_.get();
    }
    return transport().receive(task(peer()), value_channel(), {target, message().bytes});
  }
  void finish() override {
    const std::byte* const from = message().bytes <= PairHead::kRoom ? head_.values.data() : copy_.get();
    if (from != nullptr && message().bytes > 0) std::memcpy(values_, from, message().bytes);
  }

  std::byte* const values_;
  PairHead head_;
  std::shared_ptr<std::byte> copy_;
};

void check_peer(const DirectGroup& group, std::string_view call, int peer) {
  const auto members = static_cast<int>(group.tasks().size());
  if (peer >= 0 && peer < members && peer != group.member()) return;
  throw Error(Code::usage, std::string(call) + ": task " + std::to_string(peer) +
                               (peer == group.member() ? " is this task itself"
                                                       : " is not one of the " + std::to_string(members) + " tasks"));
}

template <class Run, class Values>
std::shared_ptr<DirectRun> start_run(DirectGroup& group, const source_location& at, const PairMessage& message,
                                     Values* values) {
  DirectJob& job = group.job();
  return job.guarded([&] {
    auto run = std::make_shared<Run>(group, at, message, values);
    job.add(run);
    job.progress();
    return run;
  });
}

}  // namespace

std::shared_ptr<DirectRun> start_sending(DirectGroup& group, DType dtype, std::span<const std::byte> values, int to,
                                         const source_location& at) {
  group.begin();
  check_peer(group, "send", to);
  const PairMessage message{dtype, values.size(), group.member(), to, group.pair(to).started_sends++};
  return start_run<SendRun>(group, at, message, values.data());
}

std::shared_ptr<DirectRun> start_receiving(DirectGroup& group, DType dtype, std::span<std::byte> values, int from,
                                           const source_location& at) {
  group.begin();
  check_peer(group, "receive", from);
  const PairMessage message{dtype, values.size(), from, group.member(), group.pair(from).started_receives++};
  return start_run<ReceiveRun>(group, at, message, values.data());
}

}  // namespace ferry

// PendingMessages: the messages that one plan class has started and does not wait for yet.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/class/class_plan.hpp"
#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Adds the instructions of messages to the class's lists: the start at once, the wait later, in the same region. The
/// wait for a message that brings a value comes before the value's first use. A send is answered if a message has
/// arrived that its receiver sends only after using the sent value. The wait for an answered send comes right after the
/// next send; there it costs no time and frees the value's bytes. The waits for all other messages come when too many
/// are under way, or at the end of the region. The constructor's arguments must outlive it.
class PendingMessages {
 public:
  PendingMessages(ClassPlan& plan_class, const Program& program, const Plan& plan, const MessageNumbers& messages)
      : class_(plan_class), plan_(plan), messages_(messages), is_pending_(program.values.size()) {}

  /// A send, receive or collective and its operands.
  struct Start {
    Instruction instruction;
    std::vector<BufferId> in, out;
  };

  /// Adds a message, or the chunks of one. `brings`: the values that can be used after its wait.
  void start(std::vector<Start> chunks, std::span<const PValueId> brings);
  /// Whether a message that brings the value is under way.
  [[nodiscard]] bool brings(PValueId value) const { return is_pending_[value]; }
  /// Records that the message that brings `value` also brings its view `view`.
  void add_view(PValueId view, PValueId value);
  /// Adds the wait for the message that brings the value.
  void wait_for(PValueId value);
  /// Adds the waits for all messages under way in the current region, so that the region may be repeated or left.
  void wait_for_all();

 private:
  struct Message {
    std::vector<Start> chunks;
    std::vector<PValueId> brings;
    bool answered = false;
  };
  using Messages = std::list<Message>;
  /// The messages under way in a region, in the order of their starts: receives, collectives that bring something, and
  /// messages that bring nothing.
  struct Started {
    Messages received, collected, leaving;
  };
  struct Place {
    RegionId region = 0;
    Messages* list = nullptr;
    Messages::iterator message;
  };

  void wait(Messages& list, Messages::iterator message);
  void wait_for_answered();
  [[nodiscard]] bool is_answered(const Instruction& sent, const Instruction& received) const;

  ClassPlan& class_;
  const Plan& plan_;
  const MessageNumbers& messages_;
  std::map<std::uint32_t, Started> started_;
  std::vector<bool> is_pending_;  // for each value
  std::unordered_map<PValueId, Place> places_;
};

}  // namespace ferry

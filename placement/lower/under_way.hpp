// UnderWay: the messages that one plan class has started and not waited for yet.
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

/// Adds messages to the lists: the instruction that starts one at once, and the one that waits for it. What brings a
/// value is waited for where that is first used. A send that has been answered, by a message that its receiver sends
/// only when it has got the value, is waited for after the next send: nobody stands still for it, and the value's bytes
/// are free again. All else when too many are under way, or at the end of the region. Waits stand in the region of
/// their start. What is given must outlive it.
class UnderWay {
 public:
  UnderWay(ClassPlan& plan_class, const Program& program, const Plan& plan, const MessageNumbers& messages)
      : class_(plan_class), plan_(plan), messages_(messages), coming_(program.values.size()) {}

  /// Adds `instruction` (send, receive or collective) with these operands. `brings`: the values that are there once it
  /// was waited for.
  void start(const Instruction& instruction, const std::vector<std::uint32_t>& in,
             const std::vector<std::uint32_t>& out, std::span<const PValueId> brings);
  /// The value is being brought.
  [[nodiscard]] bool brings(PValueId value) const { return coming_[value]; }
  /// `view` comes with `value`, which is being brought.
  void bring_too(PValueId view, PValueId value);
  /// Waits for the message that brings the value.
  void wait_for(PValueId value);
  /// Waits for all that was started in the current region, so that it may be repeated or left.
  void finish();

 private:
  struct Message {
    Instruction wait;
    std::vector<std::uint32_t> in, out;
    std::vector<PValueId> brings;
    bool answered = false;
  };
  using Messages = std::list<Message>;
  /// Of a region, in the order of their starts.
  struct Started {
    Messages received, collected, leaving;  ///< collectives that bring something are `collected`
  };
  struct Place {
    std::uint32_t region = 0;
    Messages* list = nullptr;
    Messages::iterator message;
  };

  void wait(Messages& list, Messages::iterator message);
  void wait_for_answered();
  [[nodiscard]] bool is_over(const Instruction& sent, const Instruction& received) const;

  ClassPlan& class_;
  const Plan& plan_;
  const MessageNumbers& messages_;
  std::map<std::uint32_t, Started> started_;
  std::vector<bool> coming_;  // of each value
  std::unordered_map<PValueId, Place> places_;
};

}  // namespace ferry

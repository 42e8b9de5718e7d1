#include <algorithm>
#include <map>
#include <optional>

#include "placement/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

/// One walk through a class's instructions: the setup, then the step twice; a loop's regions twice, both sides of a
/// branch. Which instruction can run depends on others' positions only, so the order in which classes are moved on does
/// not matter.
class Walker {
 public:
  Walker(const Plan& plan, std::uint32_t plan_class) : plan_(plan.classes[plan_class]) {
    for (std::uint32_t region : {1U, 1U, 0U}) enter(region);
  }

  [[nodiscard]] const Instruction* current() {
    while (!frames_.empty() && frames_.back().next == frames_.back().end) frames_.pop_back();
    return frames_.empty() ? nullptr : &plan_.instructions[frames_.back().next];
  }

  void advance() {
    const Instruction& i = plan_.instructions[frames_.back().next++];
    if (i.what == Do::loop) {
      for (std::uint32_t region : {i.target, i.other, i.target, i.other, i.target}) enter(region);
    } else if (i.what == Do::branch) {
      for (std::uint32_t region : {i.other, i.target}) enter(region);
    }
  }

 private:
  struct Frame {
    std::uint32_t next, end;
  };
  void enter(std::uint32_t region) {
    const Range range = plan_.regions[region].instructions;
    frames_.push_back({range.begin, range.begin + range.count});
  }

  const PlanClass& plan_;
  std::vector<Frame> frames_;
};

class Progress {
 public:
  explicit Progress(const Plan& plan)
      : plan_(plan),
        started_sends_(plan.channels.size()),
        started_receives_(plan.channels.size()),
        done_sends_(plan.channels.size()),
        done_receives_(plan.channels.size()),
        waiting_(plan.classes.size()) {
    for (std::uint32_t c = 0; c < plan.classes.size(); ++c) walkers_.emplace_back(plan, c);
    for (std::size_t task = plan.class_of.size(); task > 0; --task)
      first_task_[plan.class_of[task - 1]] = static_cast<std::int32_t>(task - 1);
  }

  void check() {
    for (std::uint32_t c = 0; c < walkers_.size(); ++c) ready_.push_back(c);
    while (!ready_.empty()) {
      const std::uint32_t c = ready_.back();
      ready_.pop_back();
      run(c);
    }
    for (std::uint32_t c = 0; c < walkers_.size(); ++c)
      if (walkers_[c].current() != nullptr) report(c);
  }

 private:
  void run(std::uint32_t c) {
    while (const Instruction* i = walkers_[c].current()) {
      if (!step(c, *i)) {
        waiting_[c] = i;
        return;
      }
      waiting_[c] = nullptr;
      walkers_[c].advance();
    }
    waiting_[c] = nullptr;
  }

  /// Executes the instruction if it can run now.
  bool step(std::uint32_t c, const Instruction& i) {
    switch (i.what) {
      case Do::send:
        ++started_sends_[i.target];
        wake(plan_.channels[i.target].to);
        return true;
      case Do::receive:
        ++started_receives_[i.target];
        wake(plan_.channels[i.target].from);
        return true;
      case Do::send_wait:
        return take(done_sends_, started_receives_, i.target);
      case Do::receive_wait:
        return take(done_receives_, started_sends_, i.target);
      case Do::collective:
        return meet(c, i);
      default:
        return true;
    }
  }

  /// The k-th wait ends once the peer's k-th start is there: nothing is buffered.
  static bool take(std::vector<std::uint32_t>& done, const std::vector<std::uint32_t>& started, std::uint32_t channel) {
    if (started[channel] <= done[channel]) return false;
    ++done[channel];
    return true;
  }

  /// Classes arrive at a collective one by one; it is over when the classes of all members are there.
  bool meet(std::uint32_t c, const Instruction& i) {
    Meeting& meeting = meetings_[i.target];
    if (meeting.classes.empty()) meeting.classes = classes_of(i.target);
    if (meeting.leaving.erase(c) > 0) return true;
    meeting.arrived[c] = true;
    if (meeting.arrived.size() < meeting.classes.size()) return false;
    meeting.arrived.clear();
    for (std::uint32_t other : meeting.classes) {
      if (other == c) continue;
      meeting.leaving[other] = true;
      ready_.push_back(other);
    }
    return true;
  }

  std::vector<std::uint32_t> classes_of(std::uint32_t collective) const {
    std::vector<std::uint32_t> classes;
    for (const auto& group : plan_.groupings[plan_.collectives[collective].grouping])
      for (std::int32_t task : group) classes.push_back(plan_.class_of[static_cast<std::size_t>(task)]);
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    return classes;
  }

  void wake(std::int32_t task) {
    const std::uint32_t c = plan_.class_of[static_cast<std::size_t>(task)];
    if (waiting_[c] != nullptr) ready_.push_back(c);
  }

  /// A class that the blocked class `c` waits for.
  std::optional<std::uint32_t> waits_for(std::uint32_t c) {
    const Instruction* i = walkers_[c].current();
    if (i == nullptr) return std::nullopt;
    if (i->what == Do::send_wait) return plan_.class_of[static_cast<std::size_t>(plan_.channels[i->target].to)];
    if (i->what == Do::receive_wait) return plan_.class_of[static_cast<std::size_t>(plan_.channels[i->target].from)];
    for (std::uint32_t other : meetings_[i->target].classes)
      if (!meetings_[i->target].arrived.contains(other)) return other;
    return std::nullopt;
  }

  /// Follows who waits for whom from a blocked class until one comes again, and prints that circle.
  [[noreturn]] void report(std::uint32_t start) {
    std::vector<std::uint32_t> chain{start};
    for (;;) {
      const auto next = waits_for(chain.back());
      if (!next || walkers_[*next].current() == nullptr) {
        throw Rejected{"the plan would wait for ever: task " + std::to_string(first_task_[chain.back()]) +
                       " waits in " + describe(plan_, *walkers_[chain.back()].current()) + " for " +
                       (next ? "task " + std::to_string(first_task_[*next]) + ", which has ended its step" : "nobody")};
      }
      const auto seen = std::find(chain.begin(), chain.end(), *next);
      if (seen == chain.end()) {
        chain.push_back(*next);
        continue;
      }
      chain.erase(chain.begin(), seen);
      break;
    }
    if (std::all_of(chain.begin(), chain.end(),
                    [&](std::uint32_t c) { return walkers_[c].current()->what == Do::collective; }))
      reject_order(chain);
    std::string text = "the plan would deadlock:";
    for (std::size_t k = 0; k < chain.size(); ++k)
      text += "\n  task " + std::to_string(first_task_[chain[k]]) + " waits in " +
              describe(plan_, *walkers_[chain[k]].current()) + " for task " +
              std::to_string(first_task_[chain[(k + 1) % chain.size()]]);
    throw Rejected{text};
  }

  /// A circle of collectives alone: each waits for a task that comes to another one first.
  [[noreturn]] void reject_order(const std::vector<std::uint32_t>& chain) {
    std::string text = "the collectives come in different orders on different tasks:";
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const std::size_t next = (k + 1) % chain.size();
      text += "\n  task " + std::to_string(first_task_[chain[next]]) + " comes to " +
              described(*walkers_[chain[next]].current()) + " before " + described(*walkers_[chain[k]].current());
    }
    throw Rejected{text};
  }

  [[nodiscard]] std::string described(const Instruction& collective) const {
    const Collective& what = plan_.collectives[collective.target];
    return verifier::described(plan_, "collective", collective.target, what.name, what.line);
  }

  struct Meeting {
    std::vector<std::uint32_t> classes;
    std::map<std::uint32_t, bool> arrived, leaving;
  };

  const Plan& plan_;
  std::vector<Walker> walkers_;
  std::vector<std::uint32_t> started_sends_, started_receives_, done_sends_, done_receives_;
  std::vector<const Instruction*> waiting_;
  std::vector<std::uint32_t> ready_;
  std::map<std::uint32_t, Meeting> meetings_;
  std::map<std::uint32_t, std::int32_t> first_task_;
};

}  // namespace

void check_progress(const Plan& plan) {
  Progress(plan).check();
}

}  // namespace ferry::verifier

#include "tests/support/simulator.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/hash.hpp"

namespace ferry::test {
namespace {

using Kind = Action::Kind;

/// The number of an arena for what the walkers of collectives remember.
constexpr std::uint32_t kOfCollectives = ~std::uint32_t{1};  // even, like the numbers of the step

bool is_wait(const Action& action) {
  return action.kind == Kind::wait_send || action.kind == Kind::wait_receive || action.kind == Kind::wait_walker;
}

/// Whether the walker may begin or has begun; `at` is the next action of each walker.
bool begun(const Script& script, const std::vector<std::size_t>& at, std::size_t walker) {
  const Walker& w = script.walkers[walker];
  return w.parent == Walker::kNever || at[w.parent] > w.start;
}
bool ended(const Script& script, const std::vector<std::size_t>& at, std::size_t walker) {
  return begun(script, at, walker) && at[walker] == script.walkers[walker].actions.size();
}
bool started(const std::vector<std::size_t>& at, const Message::End& end) {
  return end.action != Walker::kNever && at[end.walker] > end.action;
}

/// Writes the script of one task.
class Unroller {
 public:
  struct Wire {
    std::vector<std::size_t> messages;  // in order
    std::size_t sent = 0, received = 0;
  };
  using Wires = std::map<std::tuple<std::uint64_t, std::size_t, std::size_t>, Wire>;  // number, from, to

  Unroller(const Plan& plan, std::size_t task, std::uint64_t seed, Script& script, Wires& wires)
      : plan_(plan),
        class_(plan.classes[plan.class_of[task]]),
        task_(task),
        walker_(task),
        seed_(seed),
        script_(script),
        wires_(wires) {}

  void unroll(int steps) {
    region(0, seed_);
    for (int step = 0; step < steps; ++step) region(1, seed_ + 1 + static_cast<std::uint64_t>(step));
  }

 private:
  std::vector<Action>& actions() { return script_.walkers[walker_].actions; }

  /// `luck`, which decides loops and branches, is the same on all tasks in this iteration of this region.
  void region(std::uint32_t r, std::uint64_t luck) {
    const Range range = class_.regions[r].instructions;
    for (std::uint32_t k = 0; k < range.count; ++k) {
      const Instruction& i = class_.instructions[range[k]];
      const std::uint64_t here = hash64(plan_.string(i.name), luck);
      if (i.what == Opcode::loop) {
        for (std::uint64_t round = here % 3; round > 0; --round) {
          region(i.target, here + 2 * round);
          region(i.other, here + 2 * round + 1);
        }
        region(i.target, here);
        compute(i, k, inputs(i), {});
      } else if (i.what == Opcode::branch) {
        compute(i, k, inputs(i), {});
        region(here % 2 == 0 ? i.target : i.other, here);
      } else {
        instruction(i, k);
      }
    }
  }

  void instruction(const Instruction& i, std::uint32_t k) {
    switch (i.what) {
      case Opcode::send:
        return start(Kind::start_send, plan_.channels[i.channel()], i.target, inputs(i));
      case Opcode::receive:
        return start(Kind::start_receive, plan_.channels[i.channel()], i.target, outputs(i));
      case Opcode::send_wait:
        return wait(i.target, true, inputs(i));
      case Opcode::receive_wait:
        return wait(i.target, false, outputs(i));
      case Opcode::collective:
        return collective(i, k);
      case Opcode::collective_wait:
        return collective_wait(i.target);
      default:
        return compute(i, k, inputs(i), written(i));
    }
  }

  void compute(const Instruction& i, std::uint32_t k, std::vector<Touch> reads, std::vector<Touch> writes) {
    const std::uint64_t what = hash64(plan_.string(i.name), k * 64 + static_cast<std::uint64_t>(i.what));
    actions().push_back({Kind::compute, 0, what, std::move(reads), std::move(writes)});
  }

  // ---- Messages ----

  std::size_t message(Wire& wire, std::size_t number, std::size_t from, std::size_t to) {
    while (wire.messages.size() <= number) {
      wire.messages.push_back(script_.messages.size());
      script_.messages.push_back({from, to, {}, {}});
    }
    return wire.messages[number];
  }

  std::size_t start(Kind kind, std::uint64_t number, std::size_t from, std::size_t to, std::vector<Touch> touches) {
    Wire& wire = wires_[{number, from, to}];
    const bool sends = kind == Kind::start_send;
    const std::size_t m = message(wire, sends ? wire.sent++ : wire.received++, from, to);
    (sends ? script_.messages[m].send : script_.messages[m].receive) = {walker_, actions().size()};
    Action action{kind, m, 0, {}, {}};
    (sends ? action.reads : action.writes) = std::move(touches);
    actions().push_back(std::move(action));
    return m;
  }

  void start(Kind kind, const Channel& channel, std::uint32_t number, std::vector<Touch> touches) {
    const auto from = static_cast<std::size_t>(channel.from), to = static_cast<std::size_t>(channel.to);
    const auto [at, fresh] = under_way_.try_emplace({number, kind == Kind::start_send}, 0);
    script_.reused = script_.reused || !fresh;
    at->second = start(kind, number, from, to, std::move(touches));
  }

  /// A wait with nothing under way ends at once, as in the executor.
  void wait(std::uint32_t number, bool sends, std::vector<Touch> touches) {
    const auto found = under_way_.find({number, sends});
    if (found == under_way_.end()) return;
    actions().push_back({sends ? Kind::wait_send : Kind::wait_receive, found->second, 0, std::move(touches), {}});
    under_way_.erase(found);
  }

  /// The start makes the buffers that are written unreadable; in place it turns the input into a value of the output. A
  /// walker does the rest: it reads the input, does the schedule's messages, reads the input again and writes the
  /// result.
  void collective(const Instruction& i, std::uint32_t k) {
    const auto [at, fresh] = calls_.try_emplace(i.target, script_.walkers.size());
    script_.reused = script_.reused || !fresh;
    at->second = script_.walkers.size();
    const bool taken = in_place(i);
    if (taken) compute(i, k, inputs(i), outputs(i));
    const std::vector<Touch> given = taken ? outputs(i) : inputs(i);
    actions().push_back({Kind::start_receive, Walker::kNever, 0, given, taken ? scratch(i) : written(i)});
    script_.walkers.push_back({task_, walker_, actions().size() - 1, {}});
    const std::size_t outer = std::exchange(walker_, at->second);
    const Touch kept{kOfCollectives, i.target, i.target + 1, 0};
    compute(i, k, given, {kept});
    messages(i);
    std::vector<Touch> reads = given, writes = written(i);
    reads.push_back(kept);
    writes.push_back(kept);
    compute(i, k, std::move(reads), std::move(writes));
    walker_ = outer;
  }

  [[nodiscard]] bool in_place(const Instruction& i) const {
    if (!may_overwrite(i, 0) || !plan_.schedules[plan_.collectives[i.collective()].schedule].in_place) return false;
    const std::vector<Touch> in = inputs(i), out = outputs(i);
    return in.size() == 1 && out.size() == 1 && in[0].arena == out[0].arena && in[0].first == out[0].first &&
           in[0].last == out[0].last;
  }

  /// With nothing under way it ends at once, as wait() does.
  void collective_wait(std::uint32_t number) {
    const auto found = calls_.find(number);
    if (found == calls_.end()) return;
    actions().push_back({Kind::wait_walker, found->second, 0, {}, {}});
    calls_.erase(found);
  }

  void messages(const Instruction& i) {
    const Collective& what = plan_.collectives[i.collective()];
    const Schedule& schedule = plan_.schedules[what.schedule];
    const std::uint64_t channel = plan_.channels.size() + i.target;
    const auto [group, self] = place(plan_.groupings[what.grouping]);
    std::vector<std::size_t> sends, receives;
    const auto wait_all = [&](Kind kind, std::vector<std::size_t>& all) {
      for (std::size_t m : all) actions().push_back({kind, m, 0, {}, {}});
      all.clear();
    };
    for (const ScheduleStep& step : schedule.steps) {
      if (!schedule.concerns(step, self)) continue;
      const auto peer = static_cast<std::size_t>((*group)[step.peer.resolve(self, schedule.members)]);
      if (step.kind == ScheduleStep::Kind::wait) wait_all(Kind::wait_receive, receives);
      if (step.kind == ScheduleStep::Kind::wait_sends) wait_all(Kind::wait_send, sends);
      if (step.kind == ScheduleStep::Kind::send_input || step.kind == ScheduleStep::Kind::send_output ||
          step.kind == ScheduleStep::Kind::send_slot)
        sends.push_back(start(Kind::start_send, channel, task_, peer, {}));
      if (step.kind == ScheduleStep::Kind::receive_output || step.kind == ScheduleStep::Kind::receive_slot)
        receives.push_back(start(Kind::start_receive, channel, peer, task_, {}));
    }
    wait_all(Kind::wait_receive, receives);
    wait_all(Kind::wait_send, sends);
  }

  std::pair<const std::vector<std::int32_t>*, int> place(const Grouping& grouping) const {
    for (const std::vector<std::int32_t>& group : grouping)
      for (std::size_t m = 0; m < group.size(); ++m)
        if (static_cast<std::size_t>(group[m]) == task_) return {&group, static_cast<int>(m)};
    return {&grouping[0], 0};
  }

  // ---- Memory ----

  std::vector<Touch> inputs(const Instruction& i) const { return touches(i.inputs); }
  std::vector<Touch> outputs(const Instruction& i) const { return touches(i.outputs); }
  std::vector<Touch> scratch(const Instruction& i) const {
    std::vector<Touch> all;
    if (i.scratch != kNone) touch(all, i.scratch);
    return all;
  }
  std::vector<Touch> written(const Instruction& i) const {
    std::vector<Touch> all = outputs(i);
    std::ranges::copy(scratch(i), std::back_inserter(all));
    return all;
  }
  std::vector<Touch> touches(Range range) const {
    std::vector<Touch> all;
    for (const std::uint32_t b : class_.operands_of(range)) touch(all, b);
    return all;
  }
  void touch(std::vector<Touch>& all, std::uint32_t id) const {
    const Buffer& b = class_.buffers[id];
    if (b.space == Buffer::Space::none || b.space == Buffer::Space::tile) return;
    const std::uint64_t begin = b.offset / 64 - (b.bounded ? 1 : 0);
    all.push_back({2 * b.device + (b.space == Buffer::Space::state ? 1U : 0U), begin, (b.offset + b.bytes + 63) / 64,
                   b.view_of == kNone ? BufferId(id) : b.view_of});
  }

  const Plan& plan_;
  const PlanClass& class_;
  std::size_t task_;
  std::size_t walker_;  ///< whose actions are being written
  std::uint64_t seed_;
  Script& script_;
  Wires& wires_;
  std::map<std::pair<std::uint32_t, bool>, std::size_t> under_way_;
  std::map<std::uint32_t, std::size_t> calls_;  ///< collectives under way: their walkers
};

/// Where all walkers are, and which messages have moved.
struct State {
  std::vector<std::size_t> at;  // next action of each walker
  std::vector<bool> moved;
  bool operator<(const State& other) const { return std::tie(at, moved) < std::tie(other.at, other.moved); }
};

/// A block of a task's memory.
struct Cell {
  std::uint64_t value = 0;
  std::uint32_t owner = kNone;
  bool operator==(const Cell&) const = default;
};
using Memory = std::map<std::tuple<std::size_t, std::uint32_t, std::uint64_t>, Cell>;  // task, arena, block

class Explorer {
 public:
  Explorer(const Script& script, std::size_t limit) : script_(script), limit_(limit) {}

  Exploration run() {
    State start{std::vector<std::size_t>(script_.walkers.size()), std::vector<bool>(script_.messages.size())};
    visit(start, {});
    found_.races = script_.reused;
    while (!open_.empty() && found_.complete) {
      const State state = std::move(open_.back());
      open_.pop_back();
      next(state);
    }
    found_.states = known_.size();
    return found_;
  }

 private:
  void next(const State& state) {
    const Memory memory = known_.at(state);
    bool any = false, all_ended = true;
    for (std::size_t m = 0; m < script_.messages.size(); ++m) {
      const Message& message = script_.messages[m];
      if (state.moved[m] || !started(state.at, message.send) || !started(state.at, message.receive)) continue;
      any = true;
      move(state, memory, m);
    }
    for (std::size_t w = 0; w < script_.walkers.size(); ++w) {
      all_ended = all_ended && (!begun(script_, state.at, w) || ended(script_, state.at, w));
      if (!can_go_on(state, w)) continue;
      any = true;
      State after = state;
      Memory changed = memory;
      act(after, changed, w);
      visit(std::move(after), std::move(changed));
    }
    if (!any && !all_ended) found_.stalls = true;
  }

  void move(const State& state, const Memory& before, std::size_t m) {
    const Message& message = script_.messages[m];
    State after = state;
    after.moved[m] = true;
    Memory memory = before;
    const auto& from = action_of(message.send).reads;
    const auto& to = action_of(message.receive).writes;
    for (std::size_t k = 0; k < from.size() && k < to.size(); ++k) {
      const std::uint64_t value = read(memory, message.from, from[k]);
      write(memory, message.to, to[k], value);
    }
    visit(std::move(after), std::move(memory));
  }

  [[nodiscard]] const Action& action_of(const Message::End& end) const {
    return script_.walkers[end.walker].actions[end.action];
  }

  /// The walker's next action.
  void act(State& state, Memory& memory, std::size_t walker) {
    const std::size_t task = script_.walkers[walker].task;
    const Action& action = script_.walkers[walker].actions[state.at[walker]++];
    std::uint64_t value = action.what;
    for (const Touch& touch : action.reads) value = hash64(std::to_string(read(memory, task, touch)), value);
    if (action.kind == Kind::start_receive) {
      for (const Touch& touch : action.writes) write(memory, task, touch, 0);  // unreadable until the message has moved
    } else {
      for (const Touch& touch : action.writes) write(memory, task, touch, ++value);
    }
  }

  /// The value of some bytes, which must be a value of the buffer `touch.owner`; anything else is a race.
  std::uint64_t read(const Memory& memory, std::size_t task, const Touch& touch) {
    std::uint64_t value = 1;
    for (std::uint64_t block = touch.first; block < touch.last; ++block) {
      const auto cell = memory.find({task, touch.arena, block});
      const bool there = cell != memory.end() && cell->second.owner == touch.owner && cell->second.value != 0;
      if (!there) {
        // Variables have their values before the first step.
        if (cell == memory.end() && touch.arena % 2 == 1) continue;
        found_.races = true;
        return 0;
      }
      value = cell->second.value;
    }
    return value;
  }

  static void write(Memory& memory, std::size_t task, const Touch& touch, std::uint64_t value) {
    for (std::uint64_t block = touch.first; block < touch.last; ++block)
      memory[{task, touch.arena, block}] = {value, touch.owner};
  }

  /// Does all that can happen without touching memory, or touching only memory that nothing else can touch before:
  /// other orders of these events lead to the same states.
  void settle(State& state, Memory& memory) {
    for (bool any = true; any;) {
      any = false;
      for (std::size_t m = 0; m < script_.messages.size(); ++m) {
        const Message& message = script_.messages[m];
        if (state.moved[m] || !started(state.at, message.send) || !started(state.at, message.receive)) continue;
        if (touches(action_of(message.send)) || touches(action_of(message.receive))) continue;
        state.moved[m] = any = true;
      }
      for (std::size_t w = 0; w < script_.walkers.size(); ++w)
        for (; can_go_on(state, w) && (!touches(script_.walkers[w].actions[state.at[w]]) || is_alone(state, w));
             any = true)
          act(state, memory, w);
    }
  }

  /// True if nothing else in the walker's task can happen before it continues. No message is about to move, and the
  /// task's other walkers wait, directly or indirectly, for this one.
  [[nodiscard]] bool is_alone(const State& state, std::size_t walker) const {
    const std::size_t task = script_.walkers[walker].task;
    for (std::size_t w = 0; w < script_.walkers.size(); ++w) {
      if (w == walker || script_.walkers[w].task != task || !begun(script_, state.at, w) || ended(script_, state.at, w))
        continue;
      if (script_.walkers[w].actions[state.at[w]].kind != Kind::wait_walker || can_go_on(state, w)) return false;
    }
    return std::none_of(script_.messages.begin(), script_.messages.end(), [&](const Message& message) {
      if (state.moved[static_cast<std::size_t>(&message - script_.messages.data())]) return false;
      return (message.from == task && started(state.at, message.send) && touches(action_of(message.send))) ||
             (message.to == task && started(state.at, message.receive) && touches(action_of(message.receive)));
    });
  }

  static bool touches(const Action& action) { return !action.reads.empty() || !action.writes.empty(); }

  [[nodiscard]] bool can_go_on(const State& state, std::size_t walker) const {
    if (!begun(script_, state.at, walker) || ended(script_, state.at, walker)) return false;
    const Action& action = script_.walkers[walker].actions[state.at[walker]];
    if (action.kind == Kind::wait_walker) return ended(script_, state.at, action.target);
    return !is_wait(action) || state.moved[action.target];
  }

  void visit(State state, Memory memory) {
    settle(state, memory);
    const auto [at, fresh] = known_.try_emplace(std::move(state), memory);
    if (!fresh) {
      if (at->second != memory) found_.races = true;
      return;
    }
    open_.push_back(at->first);
    if (known_.size() > limit_) found_.complete = false;
  }

  const Script& script_;
  std::size_t limit_;
  std::map<State, Memory> known_;
  std::vector<State> open_;
  Exploration found_;
};

}  // namespace

Script unroll(const Plan& plan, int steps, std::uint64_t seed) {
  Script script;
  const std::size_t tasks = plan.class_of.size();
  script.walkers.resize(tasks);
  Unroller::Wires wires;
  for (std::size_t task = 0; task < tasks; ++task) {
    script.walkers[task].task = task;
    Unroller(plan, task, seed, script, wires).unroll(steps);
  }
  return script;
}

std::string run(const Script& script) {
  std::vector<std::size_t> at(script.walkers.size());
  const auto can = [&](const Action& action) {
    if (!is_wait(action)) return true;
    if (action.kind == Kind::wait_walker) return ended(script, at, action.target);
    const Message& message = script.messages[action.target];
    return started(at, action.kind == Kind::wait_send ? message.receive : message.send);
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = 0; w < at.size(); ++w)
      for (; begun(script, at, w) && !ended(script, at, w) && can(script.walkers[w].actions[at[w]]); ++at[w])
        moved = true;
  }
  for (std::size_t w = at.size(); w > 0; --w) {
    if (!begun(script, at, w - 1) || ended(script, at, w - 1)) continue;
    const Walker& walker = script.walkers[w - 1];
    const Message& message = script.messages[walker.actions[at[w - 1]].target];
    const bool sends = walker.actions[at[w - 1]].kind == Kind::wait_send;
    return "task " + std::to_string(walker.task) + " waits for task " +
           std::to_string(sends ? message.to : message.from) + (sends ? " to receive" : " to send");
  }
  return "";
}

Exploration explore(const Script& script, std::size_t limit) {
  return Explorer(script, limit).run();
}

}  // namespace ferry::test

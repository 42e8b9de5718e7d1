// Turns. The step of a server has two turns for each worker: a give and a take. The other checks prove the step in the
// order of its list, but the server runs the turns in another order. The result is the same for every turn if
//
// - a value that one turn leaves for another turn, or for later, is in kept memory that nothing else uses. Such values
//   are the worker's own values between its give and its take, which no other turn touches, and values that no turn
//   changes. Instructions after the turns use copies of the workers' values, since the next values may arrive
//   meanwhile;
// - only whole turns change variables, and only by assignments: no message reads or writes a variable while other turns
//   run;
// - a give waits for nothing, and a take waits only for messages of its worker. The worker has all inputs for these
//   messages when its give is done. So a worker's step ends whatever other workers do, and the server never waits in a
//   turn.
//
// Workers send messages only to servers, so that no worker waits for another worker in any other way.
#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

/// Checks the turns of one server.
class Turns {
 public:
  Turns(const Plan& plan, const PlanClass& plan_class) : plan_(plan), class_(plan_class), uses_(class_.buffers.size()) {
    for (const PlanVariable& variable : class_.variables) uses_[variable.buffer].variable = true;
  }

  void check() {
    if (class_.threads != 1 || !class_.queues.empty()) reject("a server uses several threads or queues");
    const Range step = class_.regions[1].instructions;
    for (std::uint32_t at = 0; at < step.count; ++at) {
      const Instruction& i = class_.instructions[step[at]];
      enter(at);
      check_messages(i);
      check_sets(i);
      touch(i);
    }
    for (std::uint32_t b = 0; b < uses_.size(); ++b) check_uses(b);
    check_disjoint();
  }

 private:
  enum class Part : std::uint8_t { before, give, take, after };

  /// The uses of a buffer that is not a view.
  struct BufferUses {
    bool variable = false, outside = false, written = false, message = false, received = false;
    std::set<std::int32_t> workers;  ///< the workers with turns that touch it
    bool give = false, take = false;
  };

  void enter(std::uint32_t at) {
    for (const Serving::Turns& turns : class_.serving.turns) {
      if (at == turns.give.first) part_ = Part::give, turns_ = &turns;
      if (at != turns.take.first) continue;
      part_ = Part::take, turns_ = &turns, only_waits_ = true;
      const Instruction& first = class_.instructions[class_.regions[1].instructions[at]];
      if (first.what != Opcode::receive_wait)
        reject(describe(plan_, first) + " begins a take, which waits for nothing");
    }
    const Serving::Turns& last = class_.serving.turns.back();
    if (at == last.take.first + last.take.count) part_ = Part::after, turns_ = nullptr;
  }

  [[nodiscard]] bool in_turn() const { return turns_ != nullptr; }

  void check_messages(const Instruction& i) {
    const auto require = [&](bool holds, const char* what) {
      if (!holds) reject(describe(plan_, i) + " " + what);
    };
    switch (i.what) {
      case Opcode::send:
      case Opcode::receive:
      case Opcode::send_wait:
      case Opcode::receive_wait: {
        const bool starts = i.what == Opcode::send || i.what == Opcode::receive;
        require(part_ == (starts ? Part::give : Part::take),
                "is not where a server starts its messages, in a give, or waits for them, in a take");
        require(starts || i.what == Opcode::send_wait || only_waits_, "comes after what may not wait any more");
        only_waits_ = only_waits_ && i.what == Opcode::receive_wait;
        const Channel& channel = plan_.channels[i.channel()];
        const bool sends = i.what == Opcode::send || i.what == Opcode::send_wait;
        require((sends ? channel.to : channel.from) == turns_->worker, "is a message of another worker's");
        return;
      }
      case Opcode::kernel:
      case Opcode::copy:
      case Opcode::tiles:
        only_waits_ = false;
        return;
      case Opcode::feed:
      case Opcode::fetch:
        return require(!in_turn(), "is in a turn");
      default:
        reject(describe(plan_, i) + " is in the step of a server");
    }
  }

  /// Checks that in a turn only assignments set variables, and that each assignment allows the server's staleness.
  void check_sets(const Instruction& i) const {
    if (!in_turn()) return;
    const auto is_variable = [&](BufferId buffer) { return uses_[storage(buffer)].variable; };
    bool sets = i.scratch != kNone && is_variable(i.scratch);
    for (std::uint32_t k = 0; k < i.outputs.count; ++k) sets = sets || is_variable(class_.outputs(i)[k]);
    if (sets) check_staleness(i);
  }

  void check_staleness(const Instruction& i) const {
    if (i.what != Opcode::copy) reject(describe(plan_, i) + " sets a variable in a turn, but is no assignment");
    const AttrValue* const said = i.attrs == kNone ? nullptr : plan_.attrs[i.attrs].find("staleness");
    const auto* const allowed = said == nullptr ? nullptr : std::get_if<std::int64_t>(said);
    if (allowed == nullptr) reject(describe(plan_, i) + " sets a variable in a turn, but is not asynchronous");
    if (class_.serving.staleness > *allowed)
      reject("workers may be " + std::to_string(class_.serving.staleness) + " steps apart, but " + describe(plan_, i) +
             " allows " + std::to_string(*allowed));
  }

  [[nodiscard]] BufferId storage(BufferId buffer) const {
    const BufferId viewed = class_.buffers[buffer].view_of;
    return viewed == kNone ? buffer : viewed;
  }

  void touch(const Instruction& i) {
    const bool kernel = i.what == Opcode::kernel || i.what == Opcode::copy || i.what == Opcode::tiles;
    const auto note = [&](BufferId buffer, bool written) {
      BufferUses& t = uses_[storage(buffer)];
      if (!in_turn()) {
        t.outside = true;
        t.written = t.written || (written && part_ == Part::after);
        return;
      }
      t.workers.insert(turns_->worker);
      (part_ == Part::give ? t.give : t.take) = true;
      t.written = t.written || written;
      t.message = t.message || !kernel;
      t.received = t.received || i.what == Opcode::receive;
    };
    for (std::uint32_t k = 0; k < i.inputs.count; ++k) note(class_.inputs(i)[k], false);
    for (std::uint32_t k = 0; k < i.outputs.count; ++k) note(class_.outputs(i)[k], true);
    if (i.scratch != kNone) note(i.scratch, true);
  }

  void check_uses(std::uint32_t b) const {
    const BufferUses& t = uses_[b];
    const Buffer& buffer = class_.buffers[b];
    if (t.workers.empty() || buffer.space == Buffer::Space::none || buffer.space == Buffer::Space::tile) return;
    const std::string name = formatted("'{}' (%{})", plan_.string(buffer.name), b);
    if (t.variable) {
      if (t.message) reject("a message of a turn uses the variable " + name + ", which other turns change");
      return;
    }
    const bool stays = t.workers.size() > 1 || t.outside || (t.give && t.take);
    if (stays && buffer.space != Buffer::Space::state)
      reject(name + " is used in several turns, or in a turn and outside, but is not kept");
    if (t.workers.size() > 1 && t.written) reject(name + " is changed in turns of several workers");
    if (t.received && t.outside)
      reject(name + " is used outside of turns, and what a worker gives next may arrive in it");
  }

  /// Checks that no two kept buffers share bytes.
  void check_disjoint() const {
    struct Extent {
      std::uint32_t device;
      std::uint64_t begin, end;
      BufferId buffer;
      auto operator<=>(const Extent&) const = default;
    };
    std::vector<Extent> kept;
    for (std::uint32_t b = 0; b < class_.buffers.size(); ++b) {
      const Buffer& buffer = class_.buffers[b];
      if (buffer.space == Buffer::Space::state && buffer.view_of == kNone && buffer.bytes > 0)
        kept.push_back({buffer.device, buffer.offset, buffer.offset + buffer.bytes, b});
    }
    std::sort(kept.begin(), kept.end());
    for (std::size_t i = 1; i < kept.size(); ++i)
      if (kept[i].device == kept[i - 1].device && kept[i].begin < kept[i - 1].end)
        reject("%" + std::to_string(kept[i - 1].buffer) + " and %" + std::to_string(kept[i].buffer) +
               " of a server are kept in the same bytes");
  }

  const Plan& plan_;
  const PlanClass& class_;
  std::vector<BufferUses> uses_;  // of each buffer that is not a view
  Part part_ = Part::before;
  const Serving::Turns* turns_ = nullptr;
  bool only_waits_ = false;  // this take has had only receive_waits so far
};

}  // namespace

std::size_t check_turns(const Plan& plan, const Tables& tables) {
  std::vector<const PlanClass*> serves(plan.class_of.size());
  std::size_t servers = 0;
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c) {
    if (plan.classes[c].serving.turns.empty()) continue;
    ++servers;
    if (tables.tasks_of[c].size() != 1) reject("several tasks serve the same workers");
    serves[tables.tasks_of[c][0]] = &plan.classes[c];
    Turns(plan, plan.classes[c]).check();
  }
  if (servers == 0) return 0;
  const auto is_worker = [&](std::int32_t server, std::int32_t task) {
    const PlanClass* c = serves[server];
    return c != nullptr && std::any_of(c->serving.turns.begin(), c->serving.turns.end(),
                                       [task](const Serving::Turns& t) { return t.worker == task; });
  };
  for (std::uint32_t channel = 0; channel < plan.channels.size(); ++channel) {
    const Channel& c = plan.channels[channel];
    if (!is_worker(c.from, c.to) && !is_worker(c.to, c.from))
      reject(described(plan, "channel", channel, c.name, c.line) +
             " is not between a server and a worker of its, so that workers wait for one another");
  }
  for (std::uint32_t collective = 0; collective < plan.collectives.size(); ++collective)
    reject(described(plan, collective) + ": its members wait for one another, although some are served in turn");
  return servers;
}

}  // namespace ferry::verifier

#include "executor/run/origin.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "executor/observe/instruction_text.hpp"
#include "ops/op_set.hpp"

namespace ferry {
namespace {

/// The longest chain of moves that is followed.
constexpr int kMostMoves = 100;

struct Origin {
  Code code = Code::program;
  std::string what;
};

using Found = std::optional<Origin>;
/// The origin of a value that comes from two sources: the first if their codes agree, else one that is Code::program.
Found either(Found one, Found other) {
  if (!one) return other;
  if (!other || one->code == other->code) return one;
  return one->code == Code::program ? one : other->code == Code::program ? other : Origin{Code::program, "several ops"};
}

class OriginSearch {
 public:
  explicit OriginSearch(const Plan& plan) : plan_(plan) {}

  /// The origin of a buffer's value; nothing if the search has already visited the buffer.
  Found of(int task, BufferId buffer, int moves = 0) {
    const PlanClass& role = plan_.class_for(task);
    const std::uint32_t storage = storage_of(role, buffer);
    const std::uint32_t of_class = plan_.class_of[task];
    if (!seen_.emplace(of_class, storage).second) return {};
    if (moves > kMostMoves) return Origin{Code::program, "ops far before it"};
    Found found;
    for (const PlanVariable& variable : role.variables)
      if (storage_of(role, variable.buffer) == storage)
        found = Origin{Code::program, formatted("the variable {:?}", plan_.string(variable.name))};
    const auto& writers = writers_in(of_class);
    for (auto at = writers.lower_bound(storage); at != writers.end() && at->first == storage; ++at)
      found = either(std::move(found), of_writer(task, *at->second, moves + 1));
    return found;
  }

  /// The common origin of inputs [begin, end).
  Found of_inputs(int task, const Instruction& instruction, std::uint32_t begin, std::uint32_t end, int moves) {
    Found found;
    for (std::uint32_t k = begin; k < std::min(end, instruction.inputs.count); ++k)
      found = either(std::move(found), of(task, plan_.class_for(task).inputs(instruction)[k], moves));
    return found;
  }

 private:
  /// The instructions of a class by the storage of their outputs. Loops, branches and tile regions are left out, since
  /// the instructions inside them do the writing.
  const std::multimap<std::uint32_t, const Instruction*>& writers_in(std::uint32_t of_class) {
    const auto [made, fresh] = writers_.try_emplace(of_class);
    if (!fresh) return made->second;
    const PlanClass& role = plan_.classes[of_class];
    for (const Instruction& instruction : role.instructions) {
      if (instruction.what == Opcode::loop || instruction.what == Opcode::branch || instruction.what == Opcode::tiles ||
          instruction.what == Opcode::stencil_begin || instruction.what == Opcode::stencil)
        continue;
      for (const BufferId b : role.outputs(instruction)) made->second.emplace(storage_of(role, b), &instruction);
    }
    return made->second;
  }

  Found of_writer(int task, const Instruction& writer, int moves) {
    switch (writer.what) {
      case Opcode::feed:
        return Origin{Code::usage, formatted("the feed {:?}", plan_.string(plan_.feeds[writer.feed()].name))};
      case Opcode::copy:
        return of_inputs(task, writer, 0, 1, moves);
      case Opcode::receive:
      case Opcode::receive_wait:
        return of_sent(plan_.channels[writer.channel()].from, Opcode::send, writer.channel(), moves);
      case Opcode::collective:
      case Opcode::collective_wait:
        return of_collective(task, writer, moves);
      case Opcode::kernel:
        return of_kernel(task, writer, moves);
      default:
        return {};
    }
  }

  /// The origin of the value that `task` sends to that channel or collective.
  Found of_sent(int task, Opcode what, std::uint32_t target, int moves) {
    Found found;
    for (const Instruction& instruction : plan_.class_for(task).instructions)
      if (instruction.what == what && instruction.target == target)
        found = either(std::move(found), of_inputs(task, instruction, 0, 1, moves));
    return found;
  }

  Found of_collective(int task, const Instruction& writer, int moves) {
    const Collective& collective = plan_.collectives[writer.collective()];
    if (collective.reduce != Reduce::none)
      return Origin{Code::program, formatted("the sum {:?} over tasks", plan_.string(collective.name))};
    Found found;
    const Membership where = membership(plan_.groupings[collective.grouping], task);
    if (where.group == nullptr) return {};
    for (const std::int32_t member : *where.group)
      found = either(std::move(found), of_sent(member, Opcode::collective, writer.collective(), moves));
    return found;
  }

  Found of_kernel(int task, const Instruction& writer, int moves) {
    const std::string_view op = plan_.string(writer.op);
    if (op == "Constant") return Origin{Code::plan, "the constant " + named(writer)};
    const Attrs* attrs = writer.attrs == kNone ? nullptr : &plan_.attrs[writer.attrs];
    const OpDef* def = default_ops().find(op);
    if (def != nullptr && def->is(kStateful) && attrs != nullptr && attrs->has("path"))
      return Origin{Code::file, formatted("the file {:?}", attrs->get<std::string>("path"))};
    if (def != nullptr && def->is(kMoves)) {
      const bool list = def->types.find("...->") != std::string_view::npos;
      return of_inputs(task, writer, 0, list ? kNone : 1, moves);
    }
    const Origin computed{Code::program, std::string(op) + " " + named(writer)};
    if (!in_setup(task, writer)) return computed;
    const Found of_all = of_inputs(task, writer, 0, kNone, moves);
    return Origin{of_all && of_all->code == Code::plan ? Code::plan : Code::program, computed.what};
  }

  [[nodiscard]] bool in_setup(int task, const Instruction& instruction) const {
    const PlanClass& role = plan_.class_for(task);
    const Range setup = role.regions[0].instructions;
    const auto at = static_cast<std::uint32_t>(&instruction - role.instructions.data());
    return at >= setup.first && at - setup.first < setup.count;
  }

  [[nodiscard]] std::string named(const Instruction& instruction) const {
    return formatted("{:?}{}", plan_.string(instruction.name), as_is(at_line(plan_, instruction)));
  }

  const Plan& plan_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;
  std::map<std::uint32_t, std::multimap<std::uint32_t, const Instruction*>> writers_;
};

}  // namespace

Error error_of_value(const BadValue& bad, const Plan& plan, const Instruction& instruction, int task) {
  const auto input = static_cast<std::uint32_t>(bad.input());
  const Found origin = OriginSearch(plan).of_inputs(task, instruction, input, input + 1, 0);
  Error error(origin ? origin->code : bad.code(), bad.text());
  if (origin) error.note("input " + std::to_string(input) + " comes from " + origin->what);
  return error;
}

}  // namespace ferry

// Partial sums: if a kernel reduces a split dim, each task has only the sum (or maximum) of its part. Until a
// collective combines the partial sums, the value may only go through ops that turn it into a partial sum of the right
// result. The plan does not record which values are partial: this check derives it from the kernels and collectives.
#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "graph/op/index_notation.hpp"
#include "graph/types/halo.hpp"
#include "ops/control/comm.hpp"
#include "ops/op_set.hpp"
#include "plan/kernel_facts.hpp"
#include "plan/verify/class_view.hpp"
#include "plan/verify/ranges.hpp"
#include "plan/verify/verifier.hpp"
#include "plan/verify/verify.hpp"

namespace ferry::verifier {
namespace {

/// A reduction that a value still needs: a collective must combine it over the groups of this grouping.
struct MissingReduction {
  std::uint32_t grouping = 0;
  Reduce reduce = Reduce::none;
  bool operator==(const MissingReduction&) const = default;
};
using MissingReductions = std::vector<MissingReduction>;

void add(MissingReductions& all, const MissingReduction& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

class PartialSums : ClassView {
 public:
  PartialSums(const Plan& plan, const Tables& tables, const OpSet& ops, std::uint32_t number)
      : ClassView(plan, plan.classes[number]),
        tables_(tables),
        ops_(ops),
        task_(tables.tasks_of[number][0]),
        owed_(class_.buffers.size()) {}

  /// Returns the number of outputs of kernels that begin a partial sum.
  std::size_t check() {
    for (const RegionId region : {0U, 1U}) walk(region);
    for (const PlanVariable& variable : class_.variables)
      if (const MissingReductions owed = owed_by(variable.buffer); !owed.empty())
        reject(formatted("variable '{}' on task {} would keep {}", plan_.string(variable.name), task_,
                         as_is(text(owed[0]))));
    return begun_;
  }

 private:
  void walk(RegionId region) {
    each_instruction(region, [&](const Instruction& i) { visit(i); });
  }

  void visit(const Instruction& i) {
    switch (i.what) {
      case Opcode::kernel:
        return run(i);
      case Opcode::collective:
        return move(i,
                    [&](const MissingReductions& owed) { return combined(owed, plan_.collectives[i.collective()]); });
      case Opcode::copy:
        return move(i, [](const MissingReductions& owed) { return owed; });
      case Opcode::feed:
      case Opcode::receive:
        return write_all(i, {});
      case Opcode::fetch:
        return require_whole(i, i.inputs);
      case Opcode::tiles:
      case Opcode::stencil:
        return walk(i.region());
      case Opcode::loop:
      case Opcode::branch:
        if (i.what == Opcode::loop) require_whole(i, i.outputs);  // the initial values of the loop
        for (const RegionId region : {i.region(), i.other_region()}) {
          walk(region);
          require_whole(i, i.inputs);
          require_whole(i, i.outputs);
        }
        return;
      default:
        return;  // send, waits, stencil_begin: their partner has the reads and writes
    }
  }

  // ---- Buffers ----

  [[nodiscard]] std::uint32_t storage(std::uint32_t b) const { return storage_of(class_, b); }
  /// The bytes of a buffer within the buffer that it is a view of, such as a bucket. The values of a bucket may owe
  /// different reductions.
  struct Bytes {
    std::uint32_t storage = 0;
    std::uint64_t begin = 0, end = 0;
  };
  [[nodiscard]] Bytes bytes_of(std::uint32_t b) const {
    const std::uint32_t whole = storage(b);
    const std::uint64_t begin = class_.buffers[b].offset - class_.buffers[whole].offset;
    return {whole, begin, begin + class_.buffers[b].bytes};
  }

  [[nodiscard]] MissingReductions owed_by(std::uint32_t b) const {
    MissingReductions all;
    const Bytes bytes = bytes_of(b);
    owed_[bytes.storage].visit(bytes.begin, bytes.end,
                               [&](std::uint64_t, std::uint64_t, const MissingReductions* owed) {
                                 for (std::size_t k = 0; owed != nullptr && k < owed->size(); ++k) add(all, (*owed)[k]);
                               });
    return all;
  }

  void write(std::uint32_t b, const MissingReductions& owed) { write(bytes_of(b), owed); }
  void write(const Bytes& bytes, const MissingReductions& owed) {
    if (owed.empty())
      owed_[bytes.storage].erase(bytes.begin, bytes.end);
    else
      owed_[bytes.storage].assign(bytes.begin, bytes.end, owed);
  }
  void write_all(const Instruction& i, const MissingReductions& owed) {
    each(i.outputs, [&](std::uint32_t b) { write(b, owed); });
  }

  /// Applies change() to the reductions that input 0 owes, and sets the result for output 0. For buckets it does so
  /// value by value.
  template <class Change>
  void move(const Instruction& i, const Change& change) {
    if (i.outputs.count == 0) return;
    if (i.inputs.count == 0) return write_all(i, {});
    const std::uint32_t in = operand(i.inputs, 0), out = operand(i.outputs, 0);
    if (class_.buffers[in].bytes != class_.buffers[out].bytes) return write_all(i, change(owed_by(in)));
    const Bytes from = bytes_of(in), to = bytes_of(out);
    std::vector<std::pair<Bytes, MissingReductions>> pieces;
    owed_[from.storage].visit(
        from.begin, from.end, [&](std::uint64_t begin, std::uint64_t end, const MissingReductions* owed) {
          pieces.push_back({{to.storage, begin - from.begin + to.begin, end - from.begin + to.begin},
                            owed == nullptr ? MissingReductions() : change(*owed)});
        });
    for (const auto& [bytes, owed] : pieces) write(bytes, owed);
  }

  // ---- Kernels ----

  void run(const Instruction& i) {
    const std::string_view name = plan_.string(i.op);
    for (const OpDef* def : kCommOps)
      if (def->name == name) return write_all(i, owed_after_move(i, *def));
    const OpDef* const def = ops_.find(name);
    const MissingReductions through = def == nullptr ? MissingReductions() : owed_through_op(i, *def);
    const bool splits = def != nullptr && splits_any(i.inputs);
    for (std::uint32_t o = 0; o < i.outputs.count; ++o) {
      MissingReductions owed = splits ? owed_for_splits(i, *def, static_cast<int>(o)) : MissingReductions();
      if (!owed.empty()) ++begun_;
      for (const MissingReduction& one : through) add(owed, one);
      write(operand(i.outputs, o), owed);
    }
  }

  [[nodiscard]] bool splits_any(Range operands) const {
    bool any = false;
    each(operands, [&](std::uint32_t b) { any = any || class_.buffers[b].window != kNone; });
    return any;
  }

  [[nodiscard]] static bool unread(const OpDef& def, std::uint32_t k) { return k < 32 && (def.unread >> k & 1U) != 0; }

  /// The reductions that the outputs of an op of placement owe: all that its inputs owe, because the op moves elements
  /// or adds up values of one kind. An extent owes nothing, because it is not an element. A window may also fill; if
  /// its input owes something, it must fill with 0.
  [[nodiscard]] MissingReductions owed_after_move(const Instruction& i, const OpDef& def) const {
    MissingReductions owed;
    if (def.role == OpRole::extent_of) return owed;
    each(i.inputs, [&](std::uint32_t b) {
      for (const MissingReduction& one : owed_by(b)) add(owed, one);
    });
    if (def.role != OpRole::window || owed.empty()) return owed;
    const auto* const fill = std::get_if<double>(attrs(i).find("value"));
    if (fill == nullptr || *fill != 0) refuse(i, operand(i.inputs, 0), "it fills with another number than 0");
    return owed;
  }

  [[nodiscard]] const Attrs& attrs(const Instruction& i) const {
    static const Attrs kNoAttrs;
    return i.attrs == kNone ? kNoAttrs : plan_.attrs[i.attrs];
  }

  /// The reductions that the output owes because inputs owe them. Rejects the plan unless the op is linear in exactly
  /// these inputs together.
  [[nodiscard]] MissingReductions owed_through_op(const Instruction& i, const OpDef& def) const {
    MissingReductions owed;
    for (std::uint32_t k = 0; k < i.inputs.count; ++k) {
      if (unread(def, k)) continue;
      for (const MissingReduction& one : owed_by(operand(i.inputs, k))) {
        const DType dtype = class_.buffers[operand(i.inputs, k)].dtype;
        if (one.reduce != Reduce::sum || !linear_in(def, dtype, k))
          refuse(i, operand(i.inputs, k), "the op is not linear in it for " + std::string(name_of(dtype)));
        add(owed, one);
      }
    }
    for (std::uint32_t k = 0; k < i.inputs.count && !owed.empty(); ++k) {
      const Buffer& b = class_.buffers[operand(i.inputs, k)];
      if (!linear_in(def, b.dtype, k) || b.bytes == 0) continue;
      const MissingReductions here = owed_by(operand(i.inputs, k));
      for (const MissingReduction& one : owed)
        if (std::ranges::find(here, one) == here.end())
          reject(describe(plan_, i) + " on task " + std::to_string(task_) + ": one of its inputs is " + text(one) +
                 ", and input " + std::to_string(k) + ", which counts once for each of them, is not");
    }
    return owed;
  }

  /// An op with more than 32 inputs is linear in all of them or in none.
  [[nodiscard]] static bool linear_in(const OpDef& def, DType dtype, std::uint32_t k) {
    return (def.linear_in(dtype) >> std::min(k, 31U) & 1U) != 0;
  }

  /// The reductions that an output owes because the op reduces split dims.
  [[nodiscard]] MissingReductions owed_for_splits(const Instruction& i, const OpDef& def, int output) const {
    const std::uint32_t count = inputs_of(i, def);
    std::vector<Type> types;
    for (std::uint32_t k = 0; k < count; ++k) types.push_back(whole_type(plan_, class_.buffers[operand(i.inputs, k)]));
    const PlanKernelFacts facts(std::move(types), attrs(i));
    MissingReductions owed;
    if (const std::string notation = notation_of(def, facts); !notation.empty()) {
      const IndexSpace space = bind_index(notation, facts);
      for (std::uint32_t k = 0; k < count; ++k)
        for (std::size_t d = 0; d < space.inputs[k].size() && !unread(def, k); ++d) {
          const int letter = space.inputs[k][d];
          if (!space.whole[letter] && !space.in_output(letter, output)) add_splits(owed, i, def, k, d);
        }
    }
    if (def.slides != nullptr)
      for (const SlidingDim& one : def.slides(facts))
        if (one.output < 0)
          for (const SlidingDim::Input& input : one.inputs)
            add_splits(owed, i, def, static_cast<std::uint32_t>(input.input), static_cast<std::size_t>(input.dim));
    return owed;
  }

  /// The number of inputs by the op's definition. The instruction may have one more: the packed form of one of them.
  [[nodiscard]] static std::uint32_t inputs_of(const Instruction& i, const OpDef& def) {
    const std::string_view types = def.types.substr(0, def.types.find("->"));
    if (types.ends_with("...")) return i.inputs.count;
    return types.empty() ? 0 : static_cast<std::uint32_t>(std::ranges::count(types, ',')) + 1;
  }

  void add_splits(MissingReductions& owed, const Instruction& i, const OpDef& def, std::uint32_t k,
                  std::size_t dim) const {
    const Buffer& b = class_.buffers[operand(i.inputs, k)];
    if (b.window == kNone) return;
    for (const SplitDim& split : plan_.windows[b.window].splits) {
      if (split.dim != dim) continue;
      if (def.reduce == Reduce::none)
        reject(formatted("{} on task {}: dim {} of '{}' is split, and parts of the result cannot be combined",
                         as_is(describe(plan_, i)), task_, dim, plan_.string(b.name)));
      add(owed, {split.grouping, def.reduce});
    }
  }

  // ---- Collectives ----

  [[nodiscard]] MissingReductions combined(MissingReductions owed, const Collective& collective) const {
    std::erase_if(owed, [&](const MissingReduction& one) {
      return one.reduce == collective.reduce && within(one.grouping, collective.grouping);
    });
    return owed;
  }

  /// Whether all tasks of this task's group in `grouping` are also in its group in `other`.
  [[nodiscard]] bool within(std::uint32_t grouping, std::uint32_t other) const {
    const auto task = static_cast<std::size_t>(task_);
    const GroupPosition here = tables_.places[grouping][task], there = tables_.places[other][task];
    if (here.group < 0 || there.group < 0) return false;
    return std::ranges::all_of(plan_.groupings[grouping][here.group],
                               [&](std::int32_t member) { return tables_.places[other][member].group == there.group; });
  }

  // ---- Reasons ----

  [[nodiscard]] std::string text(const MissingReduction& owed) const {
    return std::string("a partial ") + (owed.reduce == Reduce::sum ? "sum" : "result") +
           " over the groups of grouping " + std::to_string(owed.grouping);
  }

  void require_whole(const Instruction& i, Range operands) const {
    each(operands, [&](std::uint32_t b) {
      if (!owed_by(b).empty()) refuse(i, b, "nothing combines it before");
    });
  }

  [[noreturn]] void refuse(const Instruction& i, std::uint32_t b, const std::string& why) const {
    reject(formatted("{} on task {}: '{}' is {}, and {}", as_is(describe(plan_, i)), task_,
                     plan_.string(class_.buffers[b].name), as_is(text(owed_by(b)[0])), as_is(why)));
  }

  const Tables& tables_;
  const OpSet& ops_;
  const std::int32_t task_;
  std::vector<Ranges<MissingReductions>> owed_;  // of each buffer that is not a view
  std::size_t begun_ = 0;
};

}  // namespace

std::size_t check_partial_sums(const Plan& plan, const Tables& tables, const KnownOps& known) {
  const OpSet& ops = known.ops != nullptr ? *known.ops : default_ops();
  std::size_t kernels = 0;
  for (std::uint32_t number = 0; number < plan.classes.size(); ++number)
    kernels += PartialSums(plan, tables, ops, number).check();
  return kernels;
}

}  // namespace ferry::verifier

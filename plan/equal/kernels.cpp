// The effect of kernels on facts: the term of their op on the terms of their inputs, the part from the plan, and the
// pending reductions.
#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "graph/op/core_ops.hpp"
#include "graph/op/index_notation.hpp"
#include "ops/control/comm.hpp"
#include "plan/equal/fallible.hpp"
#include "plan/equal/walk.hpp"
#include "plan/kernel_facts.hpp"

namespace ferry::equal {
namespace {

void add(std::vector<PendingReduction>& all, const PendingReduction& one) {
  const auto at = std::ranges::lower_bound(all, one);
  if (at == all.end() || *at != one) all.insert(at, one);
}

/// The number of the op's inputs; -1: any number.
int inputs_taken(const OpDef& def) {
  const std::string_view inputs = def.types.substr(0, def.types.find("->"));
  if (inputs.ends_with("...")) return -1;
  return inputs.empty() ? 0 : static_cast<int>(std::ranges::count(inputs, ',')) + 1;
}

/// Whether the op is linear in input k. An op with more than 32 inputs is linear in all of them or in none.
bool is_linear_in(const OpDef& def, DType dtype, std::size_t k) {
  return (def.linear_in(dtype) >> std::min<std::size_t>(k, 31) & 1U) != 0;
}

}  // namespace

const Attrs& PlanWalk::attrs(const Instruction& i) const {
  static const Attrs kNoAttrs;
  return i.attrs == kNone ? kNoAttrs : plan_.attrs[i.attrs];
}

const Kernel* PlanWalk::kernel_of(const Class& c, const Instruction& i) const {
  const DeviceKind kind =
      c.role->on_queue(i) ? c.role->devices[c.role->queues[i.strand - c.role->threads].device].kind : DeviceKind::cpu;
  return kernels_.find(plan_.string(i.op), kind);
}

void PlanWalk::run(Class& c, const Instruction& i) {
  if (i.what != Opcode::kernel) throw_not_proved(c, i, "it is no kernel, in a region of kernels that run together");
  const std::string_view op = plan_.string(i.op);
  assumptions_.kernels.emplace(op);
  for (const OpDef* const def : kCommOps)
    if (def->name == op) return run_placed(c, i, *def);
  if (op == kConstant.name) return run_op(c, i, kConstant);
  const auto found = graph_.defs.find(op);
  if (found != graph_.defs.end()) return run_op(c, i, *found->second);
  run_unknown(c, i);
}

/// Records an instruction that makes a value which is not in the graph.
void PlanWalk::record_suspect(Class& c, const Instruction& i, TermId term) {
  if (term < graph_terms_ || term == kNoTerm) return;
  const Terms::Kind kind = terms_[term].kind;
  if (kind == Terms::Kind::window || kind == Terms::Kind::sum || kind == Terms::Kind::joined) return;
  suspects_.push_back({described(c, i), term, c.frames.back().place, std::string(plan_.string(i.name))});
}

// ---- Ops of the graph ----

std::int32_t PlanWalk::only_task(const Class& c, const Instruction& i) const {
  if (std::ranges::count(plan_.class_of, c.number) > 1)
    throw_difference(c, i, "several tasks run it, and its value is another one on each task");
  return static_cast<std::int32_t>(std::ranges::find(plan_.class_of, c.number) - plan_.class_of.begin());
}

void PlanWalk::run_op(Class& c, const Instruction& i, const OpDef& def) {
  const bool in_setup = c.frames.front().region == 0;
  if (in_setup && ((def.is(kStateful) && !def.is(kOnce)) || def.is(kRandom) || def.is(kEffect)))
    throw_difference(c, i, "it runs once, in the setup, and its value changes from step to step");
  const auto inputs = c.role->inputs(i), outputs = c.role->outputs(i);
  const int taken = inputs_taken(def);
  const bool packed = taken > 0 && static_cast<int>(inputs.size()) == taken + 1;
  const std::size_t count = inputs.size() - (packed ? 1 : 0);
  std::vector<std::optional<Fact>> facts;
  std::vector<TypedTerm> values;
  for (std::size_t k = 0; k < count; ++k) {
    const TypeId id = type(c, inputs[k]);
    if (uses_sizes_only(def, k, terms_.type(id))) {
      facts.emplace_back();
      values.push_back({kNoTerm, id});
      continue;
    }
    facts.push_back(read(c, inputs[k], i));
    Fact& fact = *facts.back();
    if (fact.worker >= 0 && fact.worker != c.worker)
      throw_difference(
          c, i, "it uses " + named(c, inputs[k]) + ", which another worker gave, or outside of the worker's turn");
    if (fact.worker >= 0) fact.owed.clear();
    if (fact.dim >= 0 || (!geometry_.is_part(fact.window) && plan_.windows[fact.window].has != Window::Has::read))
      throw_difference(c, i, "it takes " + named(c, inputs[k]) + ", which holds blocks of a value, for the value");
    values.push_back(fact.value);
  }
  if (packed) {
    const Kernel* const kernel = kernel_of(c, i);
    if (kernel == nullptr || kernel->packing.input >= count || !facts[kernel->packing.input])
      throw_not_proved(c, i, "it takes one input more than its op");
    check_packed(c, i, *facts[kernel->packing.input], *kernel);
  }
  std::vector<TypeId> types;
  for (const std::uint32_t b : outputs) types.push_back(type(c, b));
  const std::string place = c.frames.back().place;
  const std::int32_t task = def.is(kLocal) ? only_task(c, i) : 0;
  const auto where = [&] { return identity_of(def, place, plan_.string(i.name), task); };
  const std::vector<TypedTerm> made = terms_.apply(def, attrs(i), values, types, where);
  check_fallible(c, i, fallible(def, terms_, values, made));
  const std::vector<PendingReduction> through = pending_after(c, i, def, facts);
  for (std::size_t o = 0; o < made.size(); ++o) {
    Fact fact{made[o], c.role->buffers[outputs[o]].window, -1, 0, through};
    add_reduced(fact.owed, def, attrs(i), values, facts, static_cast<int>(o));
    record_suspect(c, i, made[o].term);
    write(c, outputs[o], fact);
  }
  if (!def.is(kEffect)) return;
  const TermId effect = terms_.make_op(def, attrs(i), values, 0, types[0], where);
  if (!effects_of_class_.emplace(c.number, effect).second) throw_difference(c, i, "it runs twice");
  effects_[place].insert(effect);
}

/// Requires that the graph runs an op that can fail in the same region as the plan, or in a region around it. Elsewhere
/// the op may run in steps in which the graph does not run it, and the plan would fail where the graph does not.
void PlanWalk::check_fallible(const Class& c, const Instruction& i, TermId term) const {
  if (term == kNoTerm) return;
  const auto runs_it = [&](const std::string& place) {
    const auto found = graph_.fallible.find(place);
    return found != graph_.fallible.end() && found->second.contains(term);
  };
  if (std::ranges::any_of(c.frames, [&](const Frame& frame) { return runs_it(frame.place); })) return;
  std::string why =
      formatted("it can fail, and the plan runs it in {:?}, where the graph does not", c.frames.back().place);
  for (const auto& [place, terms] : graph_.fallible)
    if (terms.contains(term)) throw_difference(c, i, why + formatted(": the graph runs it in {:?}", place));
  throw_difference(c, i, why);
}

/// Requires that the last input is the packed form of another input.
void PlanWalk::check_packed(Class& c, const Instruction& i, const Fact& source, const Kernel& kernel) {
  const Fact fact = read(c, c.role->inputs(i).back(), i);
  const Terms::Term& term = terms_[fact.value.term];
  const auto from = packed_from_.find(fact.value.term);
  if (term.kind != Terms::Kind::packed || terms_.text(term.name) != kernel.packing.op ||
      term.attrs != terms_.attrs(attrs(i)) || from == packed_from_.end() || facts_[from->second] != source)
    throw_difference(c, i,
                     "its last input is not the packed form of its input " + std::to_string(kernel.packing.input));
}

/// Handles an op that is not in the graph. It may pack an input of an op of the graph; otherwise the plan differs.
void PlanWalk::run_unknown(Class& c, const Instruction& i) {
  const auto inputs = c.role->inputs(i), outputs = c.role->outputs(i);
  if (inputs.size() != 1 || outputs.size() != 1) throw_difference(c, i, "the request needs no such op of the graph");
  const Fact fact = read(c, inputs[0], i);
  const TermId term = terms_.packed(plan_.string(i.op), attrs(i), fact.value, facts_.number(fact));
  packed_from_[term] = facts_.number(fact);
  suspects_.push_back({described(c, i), term, c.frames.back().place, std::string(plan_.string(i.name))});
  write(c, outputs[0], {{term, type(c, outputs[0])}, c.role->buffers[outputs[0]].window});
}

/// The pending reductions of the outputs: the same as of the inputs. This requires that the op is linear in these
/// inputs together.
std::vector<PendingReduction> PlanWalk::pending_after(Class& c, const Instruction& i, const OpDef& def,
                                                      const std::vector<std::optional<Fact>>& inputs) const {
  std::vector<PendingReduction> owed;
  const auto buffers = c.role->inputs(i);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k]) continue;
    for (const PendingReduction& one : inputs[k]->owed) {
      if (one.reduce != Reduce::sum || !is_linear_in(def, c.role->buffers[buffers[k]].dtype, k))
        throw_difference(
            c, i, "it uses " + named(c, buffers[k]) + ", each task's part of a sum, before the parts are added up");
      add(owed, one);
    }
  }
  for (std::size_t k = 0; k < inputs.size() && !owed.empty(); ++k) {
    const Buffer& b = c.role->buffers[buffers[k]];
    if (!inputs[k] || b.bytes == 0 || !is_linear_in(def, b.dtype, k) || inputs[k]->owed == owed) continue;
    throw_difference(c, i,
                     "its other inputs are parts of a sum, so it adds " + named(c, buffers[k]) + " once for each part");
  }
  return owed;
}

/// Adds the pending reductions of an output that arise because the op reduces split dims.
void PlanWalk::add_reduced(std::vector<PendingReduction>& owed, const OpDef& def, const Attrs& own,
                           const std::vector<TypedTerm>& values, const std::vector<std::optional<Fact>>& inputs,
                           int output) const {
  const bool any = std::ranges::any_of(inputs, [](const auto& fact) { return fact && fact->window != kNone; });
  if (!any) return;
  const auto add_splits = [&](std::size_t k, std::size_t dim) {
    if (!inputs[k] || inputs[k]->window == kNone) return;
    for (const SplitDim& split : plan_.windows[inputs[k]->window].splits)
      if (split.dim == dim) add(owed, {split.grouping, def.reduce});
  };
  std::vector<Type> types;
  for (const TypedTerm& value : values) types.push_back(terms_.type(value.type));
  const PlanKernelFacts facts(std::move(types), own);
  if (const std::string notation = notation_of(def, facts); !notation.empty()) {
    const IndexSpace space = bind_index(notation, facts);
    for (std::size_t k = 0; k < values.size(); ++k)
      for (std::size_t d = 0; d < space.inputs[k].size(); ++d) {
        const int letter = space.inputs[k][d];
        if (!space.whole[letter] && !space.in_output(letter, output)) add_splits(k, d);
      }
  }
  if (def.slides != nullptr)
    for (const SlidingDim& one : def.slides(facts))
      if (one.output < 0)
        for (const SlidingDim::Input& input : one.inputs)
          add_splits(static_cast<std::size_t>(input.input), static_cast<std::size_t>(input.dim));
}

// ---- Ops that placement inserts ----

void PlanWalk::run_placed(Class& c, const Instruction& i, const OpDef& def) {
  if (def.role == OpRole::window) return run_window(c, i, def);
  if (def.role == OpRole::fill_bound || def.role == OpRole::extent_of || def.role == OpRole::with_extent)
    return run_bound(c, i, def);
  const auto inputs = c.role->inputs(i), outputs = c.role->outputs(i);
  if (def.reduce != Reduce::none) {
    std::vector<TypedTerm> values;
    std::vector<Fact> given;
    for (const std::uint32_t b : inputs) {
      given.push_back(read(c, b, i));
      values.push_back(given.back().value);
    }
    Fact fact = given[0];
    if (fact.worker >= 0) return write(c, outputs[0], sum_of_workers(c, i, given));
    for (const Fact& other : given)
      if (other.owed != fact.owed || other.window != fact.window || other.dim >= 0 || other.worker >= 0)
        throw_difference(c, i, "it adds up parts of sums over different tasks");
    fact.value.term = terms_.sum(values);
    return write(c, outputs[0], fact);
  }
  if (def.role == OpRole::take_part || def.role == OpRole::cut_halo) {
    Fact fact = read(c, inputs[0], i);
    const bool rows = !geometry_.is_part(fact.window) && plan_.windows[fact.window].has == Window::Has::read;
    if (fact.dim >= 0 || (!geometry_.is_part(fact.window) && (def.role == OpRole::take_part || !rows)))
      throw_difference(c, i, "it takes " + named(c, inputs[0]) + ", which holds blocks of a value, for the value");
    fact.window = c.role->buffers[outputs[0]].window;
    return write(c, outputs[0], fact);
  }
  run_parts(c, i, def);
}

Fact PlanWalk::sum_of_workers(Class& c, const Instruction& i, const std::vector<Fact>& given) const {
  std::set<std::int32_t> workers;
  for (const Fact& one : given) {
    if (one.value != given[0].value || one.window != kNone || one.dim >= 0)
      throw_difference(c, i, "it adds up " + terms_.str(one.value.term) + " and " + terms_.str(given[0].value.term));
    workers.insert(one.worker);
  }
  if (workers.contains(-1) || workers.size() != given.size() || workers.size() != c.role->serving.turns.size())
    throw_difference(c, i, "it does not add up what each worker gave, each once");
  Fact sum = given[0];
  sum.owed.clear();
  sum.worker = -1;
  return sum;
}

/// Applies CutParts, which puts the parts of a dim one after another, or JoinParts, which reverses this.
void PlanWalk::run_parts(Class& c, const Instruction& i, const OpDef& def) {
  const std::uint32_t from = c.role->inputs(i)[0], to = c.role->outputs(i)[0];
  Fact fact = read(c, from, i);
  const auto dim = attrs(i).get<std::int64_t>("dim"), parts = attrs(i).get<std::int64_t>("parts");
  const bool follow = parts_follow(*c.role, from, dim);
  if (def.name == kCutParts.name) {
    if (fact.dim >= 0) throw_difference(c, i, "it cuts " + named(c, from) + ", which is cut into blocks already");
    if (!follow) fact.dim = dim;
    if (!follow) fact.blocks = parts;
  } else {
    const bool fits =
        c.role->buffers[from].bytes == 0 || (fact.dim < 0 ? follow : fact.dim == dim && fact.blocks == parts);
    if (!fits)
      throw_difference(c, i,
                       "it joins " + std::to_string(parts) + " blocks of dim " + std::to_string(dim) + " of " +
                           named(c, from) + ", which holds no such blocks");
    fact.dim = -1;
    fact.blocks = 0;
  }
  write(c, to, fact);
}

/// A window of a split value reads rows of the task's own part, and rows that other tasks sent.
void PlanWalk::run_window(Class& c, const Instruction& i, const OpDef& def) {
  const auto inputs = c.role->inputs(i);
  const std::uint32_t to = c.role->outputs(i)[0];
  const Fact fact = read(c, inputs[0], i);
  if (fact.dim >= 0) throw_difference(c, i, "it reads " + named(c, inputs[0]) + ", which is cut into blocks");
  if (inputs.size() == 2 && !has_nothing(c, inputs[1])) {
    const Fact halo = read(c, inputs[1], i);
    if (halo.value != fact.value || halo.owed != fact.owed)
      throw_difference(
          c, i, "it reads rows of " + terms_.str(halo.value.term) + " as rows of " + terms_.str(fact.value.term));
    if (halo.window == kNone || plan_.windows[halo.window].has != Window::Has::got)
      throw_difference(c, i, "it reads rows in " + named(c, inputs[1]) + " that no task has brought");
  }
  const TypeId types[] = {type(c, to)};
  const auto made = terms_.apply(def, attrs(i), {&fact.value, 1}, types, [] { return std::string(); });
  write(c, to, {made[0], c.role->buffers[to].window, -1, 0, fact.owed});
}

/// Converts a bounded value to a value of fixed size with an extent, or back.
void PlanWalk::run_bound(Class& c, const Instruction& i, const OpDef& def) {
  const auto inputs = c.role->inputs(i);
  const std::uint32_t to = c.role->outputs(i)[0];
  std::vector<Fact> facts;
  std::vector<TypedTerm> values;
  for (const std::uint32_t b : inputs) {
    facts.push_back(read(c, b, i));
    values.push_back(facts.back().value);
    if (facts.back().dim >= 0) throw_difference(c, i, "it reads " + named(c, b) + ", which is cut into blocks");
  }
  const TypeId types[] = {type(c, to)};
  Fact made{{kNoTerm, types[0]}, c.role->buffers[to].window, -1, 0, facts[0].owed};
  if (def.role == OpRole::extent_of) {
    made.owed.clear();  // the parts of a sum have the same extent as the sum
    if (facts[0].window != kNone)
      for (const SplitDim& split : plan_.windows[facts[0].window].splits)
        if (split.dim == 0) add(made.owed, {split.grouping, Reduce::sum});
  }
  if (def.role == OpRole::with_extent) {
    if (!facts[1].owed.empty())
      throw_difference(c, i, "it takes the extent of one task's part for the extent of the value");
    const Terms::Term &elements = terms_[values[0].term], &extent = terms_[values[1].term];
    const bool filled = elements.kind == Terms::Kind::op && elements.def->role == OpRole::fill_bound;
    if (extent.kind == Terms::Kind::op && extent.def->role == OpRole::extent_of && extent.in[0].type == types[0] &&
        (has_nothing(c, inputs[0]) || (filled && elements.in == extent.in)))
      made.value.term = extent.in[0].term;
  }
  if (made.value.term == kNoTerm)
    made.value = terms_.apply(def, attrs(i), values, types, [] { return std::string(); })[0];
  write(c, to, made);
}

}  // namespace ferry::equal

#include "plan/equal/walk.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/kernel_facts.hpp"

namespace ferry::equal {

PlanWalk::PlanWalk(const Plan& plan, const GraphTerms& graph, Terms& terms, const KernelLookup& kernels)
    : plan_(plan),
      graph_(graph),
      terms_(terms),
      kernels_(kernels),
      graph_terms_(terms.size()),
      geometry_(plan),
      sent_(plan.channels.size()),
      open_collectives_(plan.collectives.size()) {
  for (std::uint32_t number = 0; number < plan.classes.size(); ++number) {
    const PlanClass& role = plan.classes[number];
    classes_.push_back({number, &role, Memory(role), {}, std::vector<TypeId>(role.buffers.size(), kNone), {}});
  }
}

void PlanWalk::run() {
  check_ports();
  for (Class& c : classes_) know_variables(c);
  walk_all(0);
  for (Class& c : classes_) begin_step(c);
  walk_all(1);
  for (Class& c : classes_) {
    check_variables(c);
    check_kept(c);
  }
  for (const auto& [name, variable] : graph_.variables)
    if (variable.assigned && !variables_.contains(name))
      throw Stop{true, formatted("variable '{}' is set by the graph, and no task has it", name)};
  check_effects();
}

/// Checks that the caller gives feeds and gets fetches on the tasks of the request.
void PlanWalk::check_ports() {
  const Signature& signature = graph_.signature();
  std::vector<std::string> feeds, fetches;
  for (const PlanPort& port : plan_.feeds) feeds.emplace_back(plan_.string(port.name));
  for (const PlanPort& port : plan_.fetches) fetches.emplace_back(plan_.string(port.name));
  const auto names = [](const std::vector<std::string>& all) {
    return all.empty() ? "nothing" : formatted("{:.200}", join(all, ", "));
  };
  if (feeds != graph_.feed_names)
    throw Stop{true, "the plan is fed " + names(feeds) + "; the request feeds " + names(graph_.feed_names)};
  if (fetches.size() != graph_.fetches.size())
    throw Stop{true, "the plan fetches " + names(fetches) + "; the request fetches " + names(graph_.fetch_names)};
  for (std::size_t k = 0; k < plan_.feeds.size(); ++k) {
    const PlanPort& port = plan_.feeds[k];
    const Signature::Feed& feed = signature.feeds[k];
    if (port.by_parts() != feed.by_parts || (!feed.by_parts && port.task != feed.task))
      throw Stop{true, formatted("the feed '{}' is taken from {}, and the request gives it elsewhere",
                                 plan_.string(port.name), as_is(task_text(port)))};
    if (terms_.type(type_of(port.dtype, port.sizes, port.bounded)) != graph_.feeds[k].type)
      throw Stop{true, formatted("the feed '{}' is {}, in the request {}", plan_.string(port.name),
                                 as_is(type_of(port.dtype, port.sizes, port.bounded).str()),
                                 as_is(terms_.type(graph_.feeds[k].type).str()))};
  }
  for (const PlanPort& port : plan_.fetches)
    if (!signature.fetch_parts && (port.by_parts() || port.task != signature.fetch_to))
      throw Stop{true, formatted("the fetch '{}' arrives at {}, and the request wants it on task {}",
                                 plan_.string(port.name), as_is(task_text(port)), signature.fetch_to)};
}

// ---- Order ----

/// Walks a region in all classes. A class that must wait for a message is continued after the other classes.
void PlanWalk::walk_all(RegionId region) {
  for (Class& c : classes_) c.frames.push_back({.region = region, .place = "step"});
  bool moved = true, left = true;
  while (moved && left) {
    moved = left = false;
    for (Class& c : classes_) {
      while (!c.frames.empty() && advance(c)) moved = true;
      left = left || !c.frames.empty();
    }
  }
  for (const Class& c : classes_)
    if (!c.frames.empty()) {
      const Frame& frame = c.frames.back();
      throw_not_proved(c, c.role->instructions[c.role->regions[frame.region].instructions[frame.next]],
                       "it waits for a message that is not sent");
    }
}

/// Executes the next instruction of the class. Returns false if the instruction must wait.
bool PlanWalk::advance(Class& c) {
  if (c.frames.size() == 1 && c.frames[0].region == 1) handle_turn_bounds(c, c.frames[0].next);
  Frame& frame = c.frames.back();
  const Range instructions = c.role->regions[frame.region].instructions;
  if (frame.next == instructions.count) {
    finish(c);
    return true;
  }
  const std::uint32_t index = instructions[frame.next];
  const std::size_t depth = c.frames.size();
  if (!execute(c, index)) return false;
  ++c.frames[depth - 1].next;
  return true;
}

bool PlanWalk::execute(Class& c, std::uint32_t index) {
  const Instruction& i = c.role->instructions[index];
  switch (i.what) {
    case Opcode::kernel:
      run(c, i);
      return true;
    case Opcode::feed:
      feed(c, i);
      return true;
    case Opcode::fetch:
      fetch(c, i);
      return true;
    case Opcode::copy: {
      const std::uint32_t from = c.role->inputs(i)[0], to = c.role->outputs(i)[0];
      if (!c.memory.is_known(from))
        throw_difference(c, i, "it copies " + named(c, from) + ", which nothing has made before");
      if (c.role->buffers[from].bytes > 0)
        c.memory.set(to, c.memory.pieces(from));
      else
        c.memory.set_empty(to, c.memory.empty(from));
      return true;
    }
    case Opcode::send:
      send(c, i);
      return true;
    case Opcode::receive_wait:
      return receive(c, i);
    case Opcode::collective:
      join_collective(c, i);
      return true;
    case Opcode::collective_wait:
      return end_collective(c, i);
    case Opcode::loop:
      enter_loop(c, index);
      return true;
    case Opcode::branch:
      enter_branch(c, index);
      return true;
    case Opcode::tiles:
    case Opcode::stencil:
      for (const std::uint32_t k : c.role->regions[i.region()].instructions) run(c, c.role->instructions[k]);
      return true;
    case Opcode::send_wait:
    case Opcode::receive:
    case Opcode::join:
    case Opcode::stencil_begin:
      return true;
  }
  throw_not_proved(c, i, "its kind is not known");
}

void PlanWalk::finish(Class& c) {
  const Frame frame = std::move(c.frames.back());
  c.frames.pop_back();
  if (frame.owner == kNone) return;
  if (c.role->instructions[frame.owner].what == Opcode::loop)
    finish_loop(c, frame);
  else
    finish_branch(c, frame);
}

std::set<std::uint32_t> PlanWalk::written(const Class& c, RegionId region) const {
  std::set<std::uint32_t> all;
  for (const std::uint32_t k : c.role->regions[region].instructions) {
    const Instruction& i = c.role->instructions[k];
    for (const BufferId b : c.role->outputs(i)) all.insert(storage_of(*c.role, b));
    if (i.what == Opcode::loop || i.what == Opcode::branch) all.merge(written_by(c, i));
    if (i.what == Opcode::tiles || i.what == Opcode::stencil) all.merge(written(c, i.region()));
  }
  return all;
}

// ---- Loops and branches ----

std::uint32_t PlanWalk::carried_number(const Class& c, const LoopTerms& loop, BufferId buffer,
                                       const Instruction& i) const {
  const TypedTerm* const value = graph_.named(c.frames.back().place, plan_.string(c.role->buffers[buffer].name));
  if (value != nullptr)
    for (std::uint32_t k = 0; k < loop.outputs.size(); ++k)
      if (loop.outputs[k] == *value) return k;
  throw_difference(c, i, "it carries " + named(c, buffer) + ", which the graph's loop does not");
}

std::set<std::uint32_t> PlanWalk::written_by(const Class& c, const Instruction& i) const {
  std::set<std::uint32_t> all = written(c, i.region());
  all.merge(written(c, i.other_region()));
  return all;
}

/// A proof for one iteration holds for all: before an iteration the carried values are symbols, and all other buffers
/// that the loop writes are unknown.
void PlanWalk::enter_loop(Class& c, std::uint32_t index) {
  const Instruction& i = c.role->instructions[index];
  const std::string place = inside(c.frames.back().place, plan_.string(i.name));
  const auto found = graph_.loops.find(place);
  if (found == graph_.loops.end()) throw_difference(c, i, "the graph has no such loop there");
  const LoopTerms& loop = found->second;
  std::vector<std::pair<std::uint32_t, Fact>> carried;
  for (const BufferId b : c.role->outputs(i)) {
    const std::uint32_t k = carried_number(c, loop, b, i);
    const Fact fact = read_summed(c, b, i);
    if (fact.value.term != loop.initial[k].term && !has_nothing(c, b))
      throw_wrong_value(named(c, b) + " at the begin of " + described(c, i), fact.value.term, loop.initial[k].term);
    carried.emplace_back(b, Fact{{loop.carried[k].term, fact.value.type}, fact.window});
  }
  for (const std::uint32_t storage : written_by(c, i)) c.memory.forget(storage);
  for (const auto& [b, fact] : carried) write(c, b, fact);
  c.frames.push_back({.region = i.region(), .place = place + "/0", .owner = index});
}

void PlanWalk::finish_loop(Class& c, const Frame& frame) {
  const Instruction& i = c.role->instructions[frame.owner];
  const std::string place = inside(c.frames.back().place, plan_.string(i.name));
  const LoopTerms& loop = graph_.loops.at(place);
  if (frame.region == i.region()) {
    check_condition(c, i, loop.condition);
    c.frames.push_back({.region = i.other_region(), .place = place + "/1", .owner = frame.owner});
    return;
  }
  std::vector<std::pair<std::uint32_t, Fact>> results;
  for (const BufferId b : c.role->outputs(i)) {
    const std::uint32_t k = carried_number(c, loop, b, i);
    const Fact fact = read_summed(c, b, i);
    if (fact.value.term != loop.results[k].term && !has_nothing(c, b))
      throw_wrong_value(named(c, b) + " after a turn of " + described(c, i), fact.value.term, loop.results[k].term);
    results.emplace_back(b, Fact{{loop.outputs[k].term, fact.value.type}, fact.window});
  }
  for (const std::uint32_t storage : written_by(c, i)) c.memory.forget(storage);
  for (const auto& [b, fact] : results) write(c, b, fact);
}

/// Requires that a loop or branch has the graph's condition. Each task that executes it must have this condition, also
/// a task that uses none of its results: tasks that exchange messages in its regions must agree.
void PlanWalk::check_condition(Class& c, const Instruction& i, TermId wanted) {
  const Fact condition = read_summed(c, c.role->inputs(i)[0], i);
  if (condition.window != kNone) throw_not_proved(c, i, "its condition is split");
  if (condition.value.term != wanted)
    throw_wrong_value("the condition of " + described(c, i), condition.value.term, wanted);
}

void PlanWalk::enter_branch(Class& c, std::uint32_t index) {
  const Instruction& i = c.role->instructions[index];
  const std::string place = inside(c.frames.back().place, plan_.string(i.name));
  const auto found = graph_.branches.find(place);
  if (found == graph_.branches.end()) throw_difference(c, i, "the graph has no such branch there");
  check_condition(c, i, found->second);
  Frame frame{.region = i.region(), .place = place + "/0", .owner = index};
  for (const std::uint32_t storage : written_by(c, i)) frame.before[storage] = c.memory.held(storage);
  c.frames.push_back(std::move(frame));
}

void PlanWalk::finish_branch(Class& c, const Frame& frame) {
  const Instruction& i = c.role->instructions[frame.owner];
  const std::string place = inside(c.frames.back().place, plan_.string(i.name));
  std::vector<Fact> made;
  for (const BufferId b : c.role->outputs(i)) made.push_back(read_summed(c, b, i));
  if (frame.region == i.region()) {
    for (const auto& [storage, pieces] : frame.before) c.memory.restore(storage, pieces);
    Frame other = frame;
    other.region = i.other_region();
    other.next = 0;
    other.place = place + "/1";
    other.made = std::move(made);
    c.frames.push_back(std::move(other));
    return;
  }
  for (const auto& [storage, pieces] : frame.before) c.memory.forget(storage);
  for (std::size_t k = 0; k < made.size(); ++k) {
    if (has_nothing(c, c.role->outputs(i)[k])) {
      c.memory.set_empty(c.role->outputs(i)[k], kNone);
      continue;
    }
    const Fact &first = frame.made[k], &second = made[k];
    if (first.window != second.window || first.value.type != second.value.type)
      throw_difference(c, i, "its sides give " + named(c, c.role->outputs(i)[k]) + " in different parts");
    write(c, c.role->outputs(i)[k],
          {{terms_.chosen(graph_.branches.at(place), first.value, second.value), first.value.type}, first.window});
  }
}

// ---- Feeds, fetches, messages ----

void PlanWalk::feed(Class& c, const Instruction& i) {
  const std::uint32_t b = c.role->outputs(i)[0];
  const TypedTerm value = graph_.feeds[i.feed()];
  if (value.type != type(c, b)) throw_difference(c, i, "the feed has another type in the graph");
  if (plan_.feeds[i.feed()].by_parts() && !geometry_.in_task_order(partition_of(c, b)))
    throw_difference(c, i, "it takes the parts in another order than the order of the tasks");
  write(c, b, {value, c.role->buffers[b].window});
}

void PlanWalk::fetch(Class& c, const Instruction& i) {
  const std::uint32_t b = c.role->inputs(i)[0];
  const PlanPort& port = plan_.fetches[i.fetch()];
  const Fact fact = read_summed(c, b, i);
  const TypedTerm wanted = graph_.fetches[i.fetch()];
  if (fact.value.term != wanted.term && !has_nothing(c, b) && !is_updated(c, fact.value.term, wanted.term))
    throw_wrong_value(formatted("fetch '{}' on task {}", plan_.string(port.name), geometry_.tasks_of(c.number)[0]),
                      fact.value.term, wanted.term);
  if (fact.window != port.window || fact.value.type != wanted.type)
    throw_difference(c, i, "it gives " + terms_.type(fact.value.type).str() + " in other parts than the caller gets");
}

/// Whether the term is the updated value of a variable that a server fetches: the server's variables already have the
/// updates of the step.
bool PlanWalk::is_updated(const Class& c, TermId has, TermId wanted) const {
  return !c.role->serving.turns.empty() && std::ranges::any_of(graph_.variables, [&](const auto& entry) {
    return entry.second.before.term == wanted && entry.second.after.term == has;
  });
}

void PlanWalk::send(Class& c, const Instruction& i) {
  const std::uint32_t b = c.role->inputs(i)[0];
  if (!c.memory.is_known(b)) throw_difference(c, i, "it sends " + named(c, b) + ", which nothing has made before");
  sent_[i.channel()] = {true, c.memory.pieces(b), c.role->buffers[b].bytes == 0 ? c.memory.empty(b) : kNone};
  ++assumptions_.messages;
}

/// Sets the received value to the sent value. If the value is a part, the receiver must have the same part.
bool PlanWalk::receive(Class& c, const Instruction& i) {
  Sent& sent = sent_[i.channel()];
  if (!sent.there) return false;
  const std::uint32_t b = c.role->outputs(i)[0];
  const Channel& channel = plan_.channels[i.channel()];
  for (HeldPiece& piece : sent.pieces) {
    Fact fact = facts_[piece.fact];
    if (!fact.owed.empty()) {
      if (!is_of_workers(c, fact)) throw_difference(c, i, "it receives one task's part of a sum");
      fact.worker = channel.from;
      piece.fact = facts_.number(fact);
    }
    if (fact.window == kNone) continue;
    const auto given = geometry_.box(partition_of(fact), channel.from);
    const bool same = sent.pieces.size() == 1 && piece.whole() && geometry_.is_part(fact.window) && given &&
                      geometry_.box(partition_of(c, b), channel.to) == given && type(c, b) == fact.value.type;
    if (!same) throw_not_proved(c, i, "it receives a part of a value that is split over other tasks");
    fact.window = c.role->buffers[b].window;
    piece.fact = facts_.number(fact);
  }
  if (c.role->buffers[b].bytes > 0)
    c.memory.set(b, sent.pieces);
  else
    c.memory.set_empty(b, sent.empty);
  sent = {};
  return true;
}

// ---- Turns ----

/// Whether the fact is one worker's part of a sum over exactly the workers of this server.
bool PlanWalk::is_of_workers(const Class& c, const Fact& fact) const {
  const std::vector<Serving::Turns>& turns = c.role->serving.turns;
  if (turns.empty() || fact.worker >= 0 || fact.owed.size() != 1 || fact.owed[0].reduce != Reduce::sum) return false;
  const std::uint32_t grouping = fact.owed[0].grouping;
  const std::int32_t group = geometry_.position(grouping, turns[0].worker).group;
  return group >= 0 && plan_.groupings[grouping][group].size() == turns.size() &&
         std::ranges::all_of(
             turns, [&](const Serving::Turns& one) { return geometry_.position(grouping, one.worker).group == group; });
}

/// Handles the start and the end of a server's take turns. Before a turn, the variables become symbols, because an
/// unknown earlier step has set them. After it, each variable that the turn sets must have the graph's new value, with
/// one worker's part in place of the sum over all.
void PlanWalk::handle_turn_bounds(Class& c, std::uint32_t next) {
  for (const Serving::Turns& turns : c.role->serving.turns) {
    if (next == turns.take.first + turns.take.count && c.worker == turns.worker) {
      std::set<std::uint32_t> set;
      for (const PlanVariable& variable : c.role->variables) {
        const auto& known = graph_.variables.find(plan_.string(variable.name))->second;
        const TermId now = read_variable(c, variable).value.term;
        if (now == known.before.term) continue;
        if (now != known.after.term)
          throw_wrong_value(
              formatted("variable '{}' after the turn of task {}", plan_.string(variable.name), turns.worker), now,
              known.after.term);
        set.insert(variable.name);
      }
      if (c.turns_ended > 0 && set != c.set_in_turns)
        throw Stop{true,
                   "the turns of task " + std::to_string(turns.worker) + " and of others set different variables"};
      c.set_in_turns = std::move(set);
      ++c.turns_ended;
      c.worker = -1;
    }
    if (next != turns.take.first || c.worker == turns.worker) continue;
    c.worker = turns.worker;
    assumptions_.turns = true;
    for (const PlanVariable& variable : c.role->variables)
      write(
          c, variable.buffer,
          {graph_.variables.find(plan_.string(variable.name))->second.before, c.role->buffers[variable.buffer].window});
  }
}

Fact PlanWalk::read_variable(Class& c, const PlanVariable& variable) {
  Instruction end;
  end.what = Opcode::copy;
  end.name = variable.name;
  return read_summed(c, variable.buffer, end);
}

// ---- Ends ----

void PlanWalk::begin_step(Class& c) {
  for (std::uint32_t s = 0; s < c.memory.storages(); ++s) {
    if (c.role->buffers[s].view_of != kNone || c.memory.held(s).empty()) continue;
    if (c.role->buffers[s].space == Buffer::Space::state)
      c.kept[s] = c.memory.held(s);
    else
      c.memory.forget(s);
  }
  for (const PlanVariable& variable : c.role->variables) c.kept.erase(variable.buffer);
}

/// Sets the variables of a class to their values before the step. The setup can read them, too: it then runs again when
/// another request has changed them.
void PlanWalk::know_variables(Class& c) {
  for (const PlanVariable& variable : c.role->variables) {
    const std::string_view name = plan_.string(variable.name);
    const auto found = graph_.variables.find(name);
    if (found == graph_.variables.end())
      throw Stop{true,
                 formatted("variable '{}' on task {} is not in the graph", name, geometry_.tasks_of(c.number)[0])};
    const Buffer& b = c.role->buffers[variable.buffer];
    if (found->second.before.type != type(c, variable.buffer))
      throw Stop{true, formatted("variable '{}' has another type in the graph", name)};
    write(c, variable.buffer, {found->second.before, b.window});
    variables_.emplace(name);
  }
}

void PlanWalk::check_variables(Class& c) {
  for (const PlanVariable& variable : c.role->variables) {
    if (c.role->buffers[variable.buffer].bytes == 0) continue;
    const std::string_view name = plan_.string(variable.name);
    const std::string where =
        formatted("variable '{}' on task {} after the step", name, geometry_.tasks_of(c.number)[0]);
    const TypedTerm wanted = graph_.variables.find(name)->second.after;
    const Fact fact = read_variable(c, variable);
    if (fact.value.term != wanted.term) throw_wrong_value(where, fact.value.term, wanted.term);
    if (fact.window != c.role->buffers[variable.buffer].window)
      throw Stop{true, where + " is another part of its value"};
  }
}

/// Checks that the step does not change values that the setup made, because they must be the same in every step.
void PlanWalk::check_kept(Class& c) {
  for (const auto& [storage, pieces] : c.kept)
    if (c.memory.held(storage) != pieces)
      throw Stop{false, "the step changes " + named(c, storage) + ", which the setup makes once, on task " +
                            std::to_string(geometry_.tasks_of(c.number)[0])};
}

void PlanWalk::check_effects() const {
  for (const auto& [place, wanted] : graph_.effects) {
    const auto found = effects_.find(place);
    for (const TermId effect : wanted)
      if (found == effects_.end() || !found->second.contains(effect))
        throw Stop{true, "nothing runs " + terms_.str(effect) + " for its effect"};
  }
  for (const auto& [place, run] : effects_) {
    const auto wanted = graph_.effects.find(place);
    for (const TermId effect : run)
      if (wanted == graph_.effects.end() || !wanted->second.contains(effect))
        throw Stop{true, "the plan runs " + terms_.str(effect) + " for an effect that the graph does not have"};
  }
}

// ---- Texts ----

std::string PlanWalk::described(const Class& c, const Instruction& i) const {
  std::string text(i.op == kNone ? name_of(i.what) : plan_.string(i.op));
  if (i.name != kNone) text += formatted(" '{}'", plan_.string(i.name));
  if (i.line != kNone) text += " at " + plan_.line(i.line).str();
  return text + " on task " + std::to_string(geometry_.tasks_of(c.number)[0]);
}

std::string PlanWalk::named(const Class& c, BufferId buffer) const {
  const std::uint32_t name = c.role->buffers[buffer].name;
  return name == kNone ? "buffer %" + std::to_string(buffer) : formatted("'{}' (%{})", plan_.string(name), buffer);
}

void PlanWalk::throw_difference(const Class& c, const Instruction& i, const std::string& why) const {
  throw Stop{true, described(c, i) + ": " + why};
}

void PlanWalk::throw_not_proved(const Class& c, const Instruction& i, const std::string& why) const {
  throw Stop{false, described(c, i) + ": " + why};
}

/// Throws Stop with the first instruction that contributes to the wrong value and makes a value which is not in the
/// graph.
void PlanWalk::throw_wrong_value(const std::string& what, TermId has, TermId wanted) const {
  std::set<TermId> seen{has};
  std::vector<TermId> next{has};
  while (!next.empty()) {
    const TermId id = next.back();
    next.pop_back();
    if (id == kNoTerm) continue;
    for (const TypedTerm& in : terms_[id].in)
      if (seen.insert(in.term).second) next.push_back(in.term);
  }
  std::string text = what + " is another value than in the graph";
  for (const Suspect& suspect : suspects_) {
    if (!seen.contains(suspect.term)) continue;
    const TypedTerm* const meant = graph_.named(suspect.place, suspect.name);
    text += "\n  first difference: " + suspect.what + "\n  the plan has " +
            (meant != nullptr && meant->term != kNoTerm ? terms_.difference(suspect.term, meant->term)
                                                        : terms_.str(suspect.term));
    throw Stop{true, std::move(text)};
  }
  text += "\n  the plan has " + terms_.difference(has, wanted);
  if (const Op* const op = graph_.maker(wanted); op != nullptr)
    text += formatted("\n  in the graph {} '{}' at {} makes it", as_is(op->def().name), op->name(),
                      as_is(op->line().str()));
  throw Stop{true, std::move(text)};
}

}  // namespace ferry::equal

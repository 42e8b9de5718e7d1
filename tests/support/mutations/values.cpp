// Mutations of what buffers, windows, variables, feeds and fetches say of a value.
#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

/// The whole value of a window grows along a split dim, by one for each part.
bool wrong_window(Plan& plan, Dice& dice) {
  std::vector<std::uint32_t> used;
  for (const PlanClass& c : plan.classes)
    for (const Buffer& b : c.buffers)
      if (b.window != kNone) used.push_back(b.window);
  const std::uint32_t* w = one_of(used, dice);
  if (w == nullptr) return false;
  const SplitDim& split = plan.windows[*w].splits[0];
  plan.windows[*w].sizes[split.dim] += static_cast<std::int64_t>(plan.groupings[split.grouping][0].size());
  return true;
}
/// Tasks with parts of different sizes change places.
bool wrong_coordinates(Plan& plan, Dice& dice) {
  std::vector<std::uint32_t> used;
  for (const PlanClass& c : plan.classes)
    for (const Buffer& b : c.buffers) {
      if (b.window == kNone) continue;
      const Window& window = plan.windows[b.window];
      const auto members = static_cast<std::int64_t>(plan.groupings[window.splits[0].grouping][0].size());
      if (members > 1 && window.sizes[window.splits[0].dim] % members != 0) used.push_back(b.window);
    }
  const std::uint32_t* w = one_of(used, dice);
  if (w == nullptr) return false;
  Grouping changed = plan.groupings[plan.windows[*w].splits[0].grouping];
  for (auto& group : changed) std::swap(group.front(), group.back());
  plan.groupings.push_back(std::move(changed));
  plan.windows[*w].splits[0].grouping = static_cast<std::uint32_t>(plan.groupings.size() - 1);
  return true;
}
/// Rows that are exchanged are said to be others.
bool wrong_rows(Plan& plan, Dice& dice) {
  std::vector<std::int64_t*> places;
  for (Window& window : plan.windows)
    for (Reads& reads : window.reads) places.insert(places.end(), {&reads.begin, &reads.size});
  for (Window& window : plan.windows)
    for (RowsRead& rows : window.rows) places.insert(places.end(), {&rows.reads.begin, &rows.reads.size});
  std::int64_t* const* const place = one_of(places, dice);
  if (place == nullptr) return false;
  **place += dice.one_in(2) ? 3 : -3;
  return true;
}
bool wrong_buffer_bytes(Plan& plan, Dice& dice) {
  PlanClass& c = plan.classes[dice.below(plan.classes.size())];
  if (c.buffers.empty()) return false;
  Buffer& b = c.buffers[dice.below(c.buffers.size())];
  b.bytes += 4;
  return true;
}
/// A buffer that is sent, fetched or copied gets another dim, of size 1.
bool wrong_dims(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, [](const PlanClass& c, const Instruction& i) {
    const bool checked = i.what == Opcode::send || i.what == Opcode::fetch || i.what == Opcode::copy;
    return checked && !c.buffers[operand(c, i.inputs, 0)].sizes.empty() &&
           storage(c, operand(c, i.inputs, 0)) == operand(c, i.inputs, 0);
  });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  at->of(plan).buffers[operand(at->of(plan), at->in(plan).inputs, 0)].sizes.own().push_back(1);
  return true;
}
bool wrong_buffer_dtype(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, [](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::send || i.what == Opcode::fetch || i.what == Opcode::collective || i.what == Opcode::feed;
  });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  const Range range = at->in(plan).inputs.count > 0 ? at->in(plan).inputs : at->in(plan).outputs;
  if (range.count == 0) return false;
  Buffer& b = at->of(plan).buffers[operand(at->of(plan), range, 0)];
  if (b.bounded) return false;
  b.dtype = other_dtype(b.dtype);
  return true;
}
bool wrong_fetch_task(Plan& plan, Dice& dice) {
  if (plan.fetches.empty() || plan.topology.size() < 2) return false;
  PlanPort& port = plan.fetches[dice.below(plan.fetches.size())];
  port.task = (port.task + 1) % plan.topology.size();
  return true;
}
bool drop_fetch(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Opcode::fetch);
}
bool wrong_variable(Plan& plan, Dice& dice) {
  std::vector<PlanClass*> some;
  for (PlanClass& c : plan.classes)
    if (c.variables.size() > 1) some.push_back(&c);
  PlanClass* const* c = one_of(some, dice);
  if (c != nullptr) std::swap((*c)->variables[0].buffer, (*c)->variables[1].buffer);
  return c != nullptr;
}
bool too_little_memory(Plan& plan, Dice& dice) {
  const std::size_t task = dice.below(plan.class_of.size());
  std::uint64_t bytes = 0;
  for (const PlanDevice& device : plan.classes[plan.class_of[task]].devices)
    bytes += device.step_bytes + device.state_bytes;
  if (bytes < 2) return false;
  plan.topology.tasks[task].memory_bytes = bytes - 1;
  return true;
}

constexpr Mutation kValueMutations[] = {
    {"wrong window", wrong_window},
    {"wrong coordinates", wrong_coordinates},
    {"wrong rows", wrong_rows},
    {"wrong bytes", wrong_buffer_bytes},
    {"wrong dims", wrong_dims},
    {"wrong dtype", wrong_buffer_dtype},
    {"fetch on another task", wrong_fetch_task},
    {"dropped fetch", drop_fetch},
    {"exchanged variables", wrong_variable},
    {"too little memory", too_little_memory},
};

}  // namespace

std::span<const Mutation> value_mutations() {
  return kValueMutations;
}

}  // namespace ferry::test

#include "tests/equal/changes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ferry::test {
namespace {

/// An instruction of a class.
struct At {
  std::uint32_t c = 0, i = 0;
};

Instruction& at(Plan& plan, At place) {
  return plan.classes[place.c].instructions[place.i];
}

/// A number below `count`.
std::uint32_t drawn(Dice& dice, std::size_t count) {
  return static_cast<std::uint32_t>(dice.below(count));
}

using Test = std::function<bool(const PlanClass&, const Instruction&)>;

/// All instructions that pass.
std::vector<At> all_that(const Plan& plan, const Test& test) {
  std::vector<At> found;
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c)
    for (std::uint32_t i = 0; i < plan.classes[c].instructions.size(); ++i)
      if (test(plan.classes[c], plan.classes[c].instructions[i])) found.push_back({c, i});
  return found;
}

/// A random one of the instructions that pass, and those like it in other classes.
std::vector<At> some_that(const Plan& plan, Dice& dice, const Test& test) {
  const std::vector<At> found = all_that(plan, test);
  if (found.empty()) return {};
  const At chosen = dice.of(found);
  const Instruction& like = plan.classes[chosen.c].instructions[chosen.i];
  std::vector<At> alike;
  std::set<std::uint32_t> classes;
  for (const At& other : found) {
    const Instruction& i = plan.classes[other.c].instructions[other.i];
    const bool same = i.what == like.what && i.op == like.op && i.name == like.name && i.target == like.target;
    if ((other.c == chosen.c && other.i == chosen.i) || (same && other.c != chosen.c && classes.insert(other.c).second))
      alike.push_back(other);
  }
  return alike;
}

bool same_type(const Buffer& a, const Buffer& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.window == b.window && a.bounded == b.bounded &&
         a.device == b.device;
}

bool is_kernel(const PlanClass&, const Instruction& i) {
  return i.what == Opcode::kernel;
}

/// Gives the instruction operands of its own.
void set_operands(PlanClass& c, Range& range, std::vector<std::uint32_t> buffers) {
  range = {static_cast<std::uint32_t>(c.operands.size()), static_cast<std::uint32_t>(buffers.size())};
  c.operands.insert(c.operands.end(), buffers.begin(), buffers.end());
}

std::vector<std::uint32_t> listed(const PlanClass& c, Range range) {
  const auto span = c.operands_of(range);
  return {span.begin(), span.end()};
}

/// Another buffer like `buffer`, with another name.
std::uint32_t another_like(const PlanClass& c, std::uint32_t buffer, Dice& dice) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
    if (b != buffer && same_type(c.buffers[b], c.buffers[buffer]) && c.buffers[b].name != c.buffers[buffer].name &&
        c.buffers[b].space != Buffer::Space::none && c.buffers[b].name != kNone)
      all.push_back(b);
  return all.empty() ? kNone : dice.of(all);
}

/// Takes instruction `i` out of its region.
void erase(PlanClass& c, std::uint32_t i) {
  c.instructions.erase(c.instructions.begin() + i);
  for (Region& region : c.regions) {
    if (region.instructions.first > i)
      --region.instructions.first;
    else if (region.instructions.first + region.instructions.count > i)
      --region.instructions.count;
  }
  c.stretches.clear();
}

/// Puts an instruction before `i`, in the region of `i`.
void insert(PlanClass& c, std::uint32_t i, const Instruction& instruction) {
  c.instructions.insert(c.instructions.begin() + i, instruction);
  for (Region& region : c.regions) {
    if (region.instructions.first > i)
      ++region.instructions.first;
    else if (region.instructions.first + region.instructions.count > i)
      ++region.instructions.count;
  }
  c.stretches.clear();
}

// ---- Kernels ----

bool another_op(Plan& plan, Dice& dice) {
  static const std::vector<std::vector<std::string_view>> kFamilies = {
      {"Add", "Sub", "Mul", "Maximum", "Minimum"},
      {"Neg", "Abs", "Square", "Exp", "Tanh", "Relu", "Sign", "Floor"},
      {"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"},
      {"Sum", "Max", "Min", "Mean", "Prod"},
      {"And", "Or"},
      {"CumSum", "Reverse", "Flip"}};
  const auto family = [&](std::string_view op) {
    return std::ranges::find_if(kFamilies, [&](const auto& f) { return std::ranges::find(f, op) != f.end(); });
  };
  const auto chosen = some_that(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && family(plan.string(i.op)) != kFamilies.end();
  });
  if (chosen.empty()) return false;
  const std::string_view before = plan.string(at(plan, chosen[0]).op);
  std::vector<std::string_view> others = *family(before);
  std::erase(others, before);
  const auto op = static_cast<std::uint32_t>(plan.strings.size());
  plan.strings.push_back(dice.of(others));
  for (const At& place : chosen) at(plan, place).op = op;
  return true;
}

bool swap_operands(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [&](const PlanClass& c, const Instruction& i) {
    const auto inputs = c.inputs(i);
    return i.what == Opcode::kernel && inputs.size() >= 2 && inputs[0] != inputs[1] &&
           same_type(c.buffers[inputs[0]], c.buffers[inputs[1]]);
  });
  for (const At& place : chosen) {
    PlanClass& c = plan.classes[place.c];
    auto inputs = listed(c, at(plan, place).inputs);
    std::swap(inputs[0], inputs[1]);
    set_operands(c, at(plan, place).inputs, inputs);
  }
  return !chosen.empty();
}

/// Lets an instruction of that kind read another value of the same type, by name alike on all classes.
bool read_another(Plan& plan, Dice& dice, const Test& test, bool output = false) {
  const auto chosen = some_that(plan, dice, [&](const PlanClass& c, const Instruction& i) {
    return test(c, i) && (output ? i.outputs : i.inputs).count > 0;
  });
  if (chosen.empty()) return false;
  PlanClass& first = plan.classes[chosen[0].c];
  const Range range = output ? at(plan, chosen[0]).outputs : at(plan, chosen[0]).inputs;
  const std::uint32_t k = dice.below(range.count);
  const std::uint32_t other = another_like(first, first.operands[range[k]], dice);
  if (other == kNone) return false;
  const std::uint32_t name = first.buffers[other].name;
  for (const At& place : chosen) {
    PlanClass& c = plan.classes[place.c];
    Range& operands = output ? at(plan, place).outputs : at(plan, place).inputs;
    auto list = listed(c, operands);
    if (k >= list.size()) continue;
    for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
      if (c.buffers[b].name == name && same_type(c.buffers[b], c.buffers[list[k]]) &&
          c.buffers[b].space != Buffer::Space::none) {
        list[k] = b;
        break;
      }
    set_operands(c, operands, list);
  }
  return true;
}

bool another_input(Plan& plan, Dice& dice) {
  return read_another(plan, dice, is_kernel);
}
bool another_output(Plan& plan, Dice& dice) {
  return read_another(plan, dice, is_kernel, true);
}
template <Opcode kWhat>
bool another_of(Plan& plan, Dice& dice) {
  return read_another(plan, dice, [](const PlanClass&, const Instruction& i) { return i.what == kWhat; });
}

bool change_attrs(Plan& plan, Dice& dice, bool constants) {
  const auto chosen = some_that(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && i.attrs != kNone && !plan.attrs[i.attrs].empty() &&
           (plan.string(i.op) == "Constant") == constants;
  });
  if (chosen.empty()) return false;
  Attrs attrs = plan.attrs[at(plan, chosen[0]).attrs];
  const auto items = std::vector<Attrs::Item>(attrs.begin(), attrs.end());
  const auto& [name, value] = dice.of(items);
  AttrValue changed = value;
  if (auto* const number = std::get_if<std::int64_t>(&changed))
    *number += dice.one_in(2) ? 1 : -1;
  else if (auto* const real = std::get_if<double>(&changed))
    *real += 1;
  else if (auto* const flag = std::get_if<bool>(&changed))
    *flag = !*flag;
  else if (auto* const ints = std::get_if<Ints>(&changed); ints != nullptr && !ints->empty())
    (*ints)[drawn(dice, ints->size())] += dice.one_in(2) ? 1 : -1;
  else if (auto* const tensor = std::get_if<Tensor>(&changed); tensor != nullptr && tensor->count() > 0) {
    *tensor = Tensor::copy_of(tensor->dtype(), tensor->sizes(), tensor->bytes());
    const auto element = static_cast<std::int64_t>(dice.below(static_cast<std::uint64_t>(tensor->count())));
    dispatch(tensor->dtype(), [&](auto zero) {
      using T = decltype(zero);
      T& x = tensor->mutable_data<T>()[static_cast<std::size_t>(element)];
      x = static_cast<T>(x == static_cast<T>(1) ? 0 : 1);
    });
  } else {
    return false;
  }
  attrs.set(name, changed);
  const auto number = static_cast<std::uint32_t>(plan.attrs.size());
  plan.attrs.push_back(attrs);
  for (const At& place : chosen) at(plan, place).attrs = number;
  return true;
}

bool another_attribute(Plan& plan, Dice& dice) {
  return change_attrs(plan, dice, false);
}
bool another_constant(Plan& plan, Dice& dice) {
  return change_attrs(plan, dice, true);
}

bool exchange_attributes(Plan& plan, Dice& dice) {
  const auto one = some_that(
      plan, dice, [&](const PlanClass&, const Instruction& i) { return i.what == Opcode::kernel && i.attrs != kNone; });
  if (one.empty()) return false;
  const Instruction like = at(plan, one[0]);
  const auto other = some_that(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && i.op == like.op && i.attrs != kNone && i.attrs != like.attrs;
  });
  if (other.empty()) return false;
  const std::uint32_t attrs = at(plan, other[0]).attrs;
  for (const At& place : one) at(plan, place).attrs = attrs;
  return true;
}

bool another_random(Plan& plan, Dice& dice) {
  const auto is_random = [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && plan.string(i.op).find("andom") != std::string_view::npos;
  };
  const auto one = some_that(plan, dice, is_random), other = some_that(plan, dice, is_random);
  if (one.empty() || other.empty() || at(plan, one[0]).name == at(plan, other[0]).name) return false;
  const std::uint32_t name = at(plan, other[0]).name;
  for (const At& place : one) at(plan, place).name = name;
  return true;
}

/// In place of a kernel, its input.
bool leave_out_op(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [&](const PlanClass& c, const Instruction& i) {
    return i.what == Opcode::kernel && i.inputs.count > 0 && i.outputs.count == 1 &&
           same_type(c.buffers[c.inputs(i)[0]], c.buffers[c.outputs(i)[0]]);
  });
  const bool second = dice.one_in(2);
  for (const At& place : chosen) {
    PlanClass& c = plan.classes[place.c];
    Instruction& i = at(plan, place);
    const auto inputs = c.inputs(i);
    const std::uint32_t kept =
        second && inputs.size() > 1 && same_type(c.buffers[inputs[1]], c.buffers[inputs[0]]) ? inputs[1] : inputs[0];
    i.what = Opcode::copy;
    i.op = i.attrs = i.scratch = kNone;
    i.in_place = 0;
    set_operands(c, i.inputs, {kept});
  }
  return !chosen.empty();
}

bool leave_out_instruction(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel || i.what == Opcode::copy;
  });
  for (const At& place : chosen) erase(plan.classes[place.c], place.i);
  return !chosen.empty();
}

bool run_twice(Plan& plan, Dice& dice) {
  const auto chosen =
      some_that(plan, dice, [](const PlanClass&, const Instruction& i) { return i.what == Opcode::kernel; });
  for (const At& place : chosen) insert(plan.classes[place.c], place.i, Instruction(at(plan, place)));
  return !chosen.empty();
}

bool exchange_neighbours(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [](const PlanClass& c, const Instruction& i) {
    const auto index = static_cast<std::uint32_t>(&i - c.instructions.data());
    return std::ranges::any_of(c.regions, [&](const Region& r) {
      return r.instructions.contains(index) && r.instructions.contains(index + 1);
    });
  });
  for (const At& place : chosen)
    std::swap(plan.classes[place.c].instructions[place.i], plan.classes[place.c].instructions[place.i + 1]);
  return !chosen.empty();
}

bool move_later(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [](const PlanClass& c, const Instruction& i) {
    const auto index = static_cast<std::uint32_t>(&i - c.instructions.data());
    return i.what == Opcode::kernel && c.regions[1].instructions.contains(index);
  });
  for (const At& place : chosen) {
    PlanClass& c = plan.classes[place.c];
    const Range step = c.regions[1].instructions;
    const std::uint32_t left = step.first + step.count - place.i;
    const std::uint32_t by = left > 1 ? 1 + dice.below(left - 1) : 0;
    std::rotate(c.instructions.begin() + place.i, c.instructions.begin() + place.i + 1,
                c.instructions.begin() + place.i + 1 + by);
    c.stretches.clear();
  }
  return !chosen.empty();
}

bool move_to_setup(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [](const PlanClass& c, const Instruction& i) {
    const auto index = static_cast<std::uint32_t>(&i - c.instructions.data());
    return i.what == Opcode::kernel && c.regions[1].instructions.contains(index) &&
           c.regions[1].instructions.first == c.regions[0].instructions.first + c.regions[0].instructions.count;
  });
  for (const At& place : chosen) {
    PlanClass& c = plan.classes[place.c];
    const std::uint32_t first = c.regions[1].instructions.first;
    for (const std::uint32_t b : c.outputs(at(plan, place)))
      if (c.buffers[b].view_of == kNone && c.buffers[b].space == Buffer::Space::step) {
        PlanDevice& device = c.devices[c.buffers[b].device];
        c.buffers[b].space = Buffer::Space::state;
        c.buffers[b].offset = (device.state_bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
        device.state_bytes =
            (c.buffers[b].offset + c.buffers[b].bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
      }
    std::rotate(c.instructions.begin() + first, c.instructions.begin() + place.i, c.instructions.begin() + place.i + 1);
    ++c.regions[0].instructions.count;
    ++c.regions[1].instructions.first;
    --c.regions[1].instructions.count;
    c.stretches.clear();
  }
  return !chosen.empty();
}

// ---- Messages ----

bool another_reduction(Plan& plan, Dice& dice) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t c = 0; c < plan.collectives.size(); ++c)
    if (plan.collectives[c].reduce != Reduce::none) all.push_back(c);
  if (all.empty()) return false;
  Collective& collective = plan.collectives[dice.of(all)];
  collective.reduce = collective.reduce == Reduce::sum ? (dice.one_in(2) ? Reduce::max : Reduce::min) : Reduce::sum;
  return true;
}

/// In place of a collective, a copy of what each gives.
bool leave_out_collective(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [](const PlanClass& c, const Instruction& i) {
    return i.what == Opcode::collective && i.inputs.count == 1 && i.outputs.count == 1 &&
           c.buffers[c.inputs(i)[0]].bytes == c.buffers[c.outputs(i)[0]].bytes &&
           c.buffers[c.inputs(i)[0]].sizes == c.buffers[c.outputs(i)[0]].sizes;
  });
  if (chosen.empty()) return false;
  const std::uint32_t number = at(plan, chosen[0]).target;
  for (PlanClass& c : plan.classes)
    for (std::uint32_t i = 0; i < c.instructions.size();) {
      Instruction& instruction = c.instructions[i];
      if (instruction.what == Opcode::collective_wait && instruction.target == number) {
        erase(c, i);
        continue;
      }
      if (instruction.what == Opcode::collective && instruction.target == number) {
        if (instruction.inputs.count != 1 || instruction.outputs.count != 1) return false;
        instruction.what = Opcode::copy;
        instruction.target = instruction.scratch = kNone;
        instruction.in_place = 0;
      }
      ++i;
    }
  plan.collectives.erase(plan.collectives.begin() + number);
  for (PlanClass& c : plan.classes)
    for (Instruction& i : c.instructions)
      if ((i.what == Opcode::collective || i.what == Opcode::collective_wait) && i.target > number) --i.target;
  return true;
}

/// After a sum over tasks, the same once more.
bool sum_twice(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::collective &&
           plan.schedules[plan.collectives[i.target].schedule].kind == CollectiveKind::all_reduce;
  });
  if (chosen.empty()) return false;
  const std::uint32_t number = at(plan, chosen[0]).target;
  const auto again = static_cast<std::uint32_t>(plan.collectives.size());
  plan.collectives.push_back(Collective(plan.collectives[number]));
  for (PlanClass& c : plan.classes)
    for (std::uint32_t i = 0; i < c.instructions.size(); ++i) {
      if (c.instructions[i].what != Opcode::collective_wait || c.instructions[i].target != number) continue;
      Instruction start = c.instructions[i], wait = start;
      const std::uint32_t out = c.outputs(start)[0];
      Buffer other = c.buffers[out];
      other.view_of = kNone;
      PlanDevice& device = c.devices[other.device];
      other.space = Buffer::Space::step;
      other.offset = (device.step_bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
      device.step_bytes = (other.offset + other.bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
      c.buffers.push_back(other);
      const auto made = static_cast<std::uint32_t>(c.buffers.size() - 1);
      start.what = Opcode::collective;
      start.target = wait.target = again;
      Instruction copy;
      copy.what = Opcode::copy;
      copy.name = start.name;
      set_operands(c, start.inputs, {out});
      set_operands(c, start.outputs, {made});
      set_operands(c, wait.inputs, {out});
      set_operands(c, wait.outputs, {made});
      set_operands(c, copy.inputs, {made});
      set_operands(c, copy.outputs, {out});
      insert(c, i + 1, copy);
      insert(c, i + 1, wait);
      insert(c, i + 1, start);
      Region& region = *std::ranges::find_if(c.regions, [&](const Region& r) { return r.instructions.contains(i); });
      if (!region.instructions.contains(i + 1)) return false;
      i += 3;
    }
  return true;
}

bool exchange_channels(Plan& plan, Dice& dice) {
  if (plan.channels.size() < 2) return false;
  const std::uint32_t a = drawn(dice, plan.channels.size()), b = drawn(dice, plan.channels.size());
  const Channel &one = plan.channels[a], &other = plan.channels[b];
  if (a == b || one.from != other.from || one.to != other.to || one.bytes != other.bytes || one.dtype != other.dtype)
    return false;
  PlanClass& c = plan.classes[plan.class_of[static_cast<std::size_t>(one.to)]];
  for (Instruction& i : c.instructions)
    if (i.what == Opcode::receive || i.what == Opcode::receive_wait)
      i.target = i.target == a ? b : i.target == b ? a : i.target;
  return true;
}

/// Exchanges the places of two parts of one buffer, on all classes or on one.
bool exchange_parts(Plan& plan, Dice& dice) {
  struct Pair {
    std::uint32_t c, a, b;
  };
  std::vector<Pair> all;
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c) {
    const auto& buffers = plan.classes[c].buffers;
    for (std::uint32_t a = 0; a < buffers.size(); ++a)
      for (std::uint32_t b = a + 1; b < buffers.size() && b < a + 40; ++b)
        if (buffers[a].view_of != kNone && buffers[a].view_of == buffers[b].view_of &&
            buffers[a].offset != buffers[b].offset && buffers[a].bytes == buffers[b].bytes)
          all.push_back({c, a, b});
  }
  if (all.empty()) return false;
  const Pair chosen = dice.of(all);
  const std::uint32_t a_name = plan.classes[chosen.c].buffers[chosen.a].name,
                      b_name = plan.classes[chosen.c].buffers[chosen.b].name;
  const bool everywhere = dice.one_in(2);
  for (const Pair& pair : all) {
    auto& buffers = plan.classes[pair.c].buffers;
    const bool same = buffers[pair.a].name == a_name && buffers[pair.b].name == b_name;
    if ((pair.c == chosen.c && pair.a == chosen.a && pair.b == chosen.b) || (everywhere && same))
      std::swap(buffers[pair.a].offset, buffers[pair.b].offset);
  }
  return true;
}

bool another_root(Plan& plan, Dice& dice) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t s = 0; s < plan.schedules.size(); ++s)
    if (is_rooted(plan.schedules[s].kind)) all.push_back(s);
  if (all.empty()) return false;
  Schedule& schedule = plan.schedules[dice.of(all)];
  schedule.root = dice.below(schedule.members);
  return true;
}

bool permute_group(Plan& plan, Dice& dice) {
  if (plan.groupings.empty()) return false;
  Grouping& grouping = plan.groupings[drawn(dice, plan.groupings.size())];
  for (auto& group : grouping) {
    if (group.size() < 2) return false;
    std::swap(group[0], group[group.size() - 1]);
  }
  return true;
}

bool another_window(Plan& plan, Dice& dice) {
  if (plan.windows.empty()) return false;
  Window& window = plan.windows[drawn(dice, plan.windows.size())];
  if (window.splits.empty() || window.sizes.size() < 2) return false;
  SplitDim& split = window.splits[drawn(dice, window.splits.size())];
  split.dim = (split.dim + 1) % static_cast<std::uint32_t>(window.sizes.size());
  return true;
}

bool another_view(Plan& plan, Dice& dice) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c)
    for (std::uint32_t b = 0; b < plan.classes[c].buffers.size(); ++b)
      if (const Buffer& buffer = plan.classes[c].buffers[b];
          buffer.sizes.size() >= 2 && buffer.window == kNone && !buffer.bounded && buffer.sizes[0] != buffer.sizes[1])
        all.emplace_back(c, b);
  if (all.empty()) return false;
  const auto [c, b] = dice.of(all);
  std::vector<std::int64_t>& sizes = plan.classes[c].buffers[b].sizes.own();
  std::swap(sizes[0], sizes[1]);
  return true;
}

// ---- Ports and variables ----

bool exchange_fetches(Plan& plan, Dice& dice) {
  if (plan.fetches.size() < 2) return false;
  const std::uint32_t a = drawn(dice, plan.fetches.size()), b = drawn(dice, plan.fetches.size());
  if (a == b) return false;
  for (PlanClass& c : plan.classes)
    for (Instruction& i : c.instructions)
      if (i.what == Opcode::fetch) i.target = i.target == a ? b : i.target == b ? a : i.target;
  return true;
}

bool exchange_feeds(Plan& plan, Dice& dice) {
  if (plan.feeds.size() < 2) return false;
  const std::uint32_t a = drawn(dice, plan.feeds.size()), b = drawn(dice, plan.feeds.size());
  if (a == b) return false;
  for (PlanClass& c : plan.classes)
    for (Instruction& i : c.instructions)
      if (i.what == Opcode::feed) i.target = i.target == a ? b : i.target == b ? a : i.target;
  return true;
}

bool exchange_variables(Plan& plan, Dice& dice) {
  std::set<std::uint32_t> names;
  for (const PlanClass& c : plan.classes)
    for (const PlanVariable& v : c.variables) names.insert(v.name);
  if (names.size() < 2) return false;
  const std::vector<std::uint32_t> list(names.begin(), names.end());
  const std::uint32_t a = dice.of(list), b = dice.of(list);
  if (a == b) return false;
  for (PlanClass& c : plan.classes)
    for (PlanVariable& v : c.variables) {
      v.name = v.name == a ? b : v.name == b ? a : v.name;
      c.buffers[v.buffer].name = v.name;
    }
  return true;
}

bool leave_out_copy(Plan& plan, Dice& dice) {
  const auto chosen =
      some_that(plan, dice, [](const PlanClass&, const Instruction& i) { return i.what == Opcode::copy; });
  for (const At& place : chosen) erase(plan.classes[place.c], place.i);
  return !chosen.empty();
}

/// Exchanges what two copies of one region copy.
bool exchange_copies(Plan& plan, Dice& dice) {
  const auto is_copy = [](const PlanClass&, const Instruction& i) { return i.what == Opcode::copy; };
  const auto all = all_that(plan, is_copy);
  if (all.size() < 2) return false;
  const At one = dice.of(all), other = dice.of(all);
  PlanClass& c = plan.classes[one.c];
  if (one.c != other.c || one.i == other.i) return false;
  Instruction &a = at(plan, one), &b = at(plan, other);
  if (!same_type(c.buffers[c.inputs(a)[0]], c.buffers[c.inputs(b)[0]])) return false;
  std::swap(a.inputs, b.inputs);
  return true;
}

// ---- Loops and branches ----

bool exchange_sides(Plan& plan, Dice& dice) {
  const auto chosen =
      some_that(plan, dice, [](const PlanClass&, const Instruction& i) { return i.what == Opcode::branch; });
  for (const At& place : chosen) std::swap(at(plan, place).target, at(plan, place).other);
  return !chosen.empty();
}

bool another_condition(Plan& plan, Dice& dice) {
  return read_another(plan, dice, [](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::loop || i.what == Opcode::branch;
  });
}

bool exchange_results(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [](const PlanClass& c, const Instruction& i) {
    const auto outputs = c.outputs(i);
    return outputs.size() >= 2 && same_type(c.buffers[outputs[0]], c.buffers[outputs[1]]);
  });
  for (const At& place : chosen) {
    PlanClass& c = plan.classes[place.c];
    auto outputs = listed(c, at(plan, place).outputs);
    std::swap(outputs[0], outputs[1]);
    set_operands(c, at(plan, place).outputs, outputs);
  }
  return !chosen.empty();
}

// ---- Regions of kernels that run together ----

bool exchange_in_region(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [](const PlanClass& c, const Instruction& i) {
    return (i.what == Opcode::tiles || i.what == Opcode::stencil) && c.regions[i.target].instructions.count >= 2;
  });
  for (const At& place : chosen) {
    PlanClass& c = plan.classes[place.c];
    const Range members = c.regions[at(plan, place).target].instructions;
    const std::uint32_t k = members[dice.below(members.count - 1)];
    std::swap(c.instructions[k], c.instructions[k + 1]);
  }
  return !chosen.empty();
}

bool leave_out_effect(Plan& plan, Dice& dice) {
  const auto chosen = some_that(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && plan.string(i.op) == "Print";
  });
  for (const At& place : chosen) {
    PlanClass& c = plan.classes[place.c];
    Instruction& i = at(plan, place);
    i.what = Opcode::copy;
    i.op = i.attrs = i.scratch = kNone;
    i.in_place = 0;
    static_cast<void>(c);
  }
  return !chosen.empty();
}

constexpr MeaningChange kChanges[] = {
    {"another op of the same types", another_op},
    {"operands exchanged", swap_operands},
    {"an input replaced by another value", another_input},
    {"an output put in place of another value", another_output},
    {"an attribute changed", another_attribute},
    {"a constant changed", another_constant},
    {"attributes of another op of the same kind", exchange_attributes},
    {"another op's random numbers", another_random},
    {"an op left out, its input taken for its result", leave_out_op},
    {"an instruction left out", leave_out_instruction},
    {"a kernel run twice", run_twice},
    {"two instructions exchanged", exchange_neighbours},
    {"an instruction moved later", move_later},
    {"an instruction of the step moved to the setup", move_to_setup},
    {"another way to combine", another_reduction},
    {"a collective left out", leave_out_collective},
    {"a sum over tasks made twice", sum_twice},
    {"another value sent", another_of<Opcode::send>},
    {"another value given to a collective", another_of<Opcode::collective>},
    {"two messages exchanged", exchange_channels},
    {"two parts of a buffer exchanged", exchange_parts},
    {"another root", another_root},
    {"members in another order", permute_group},
    {"another dim split", another_window},
    {"a view with dims exchanged", another_view},
    {"another value fetched", another_of<Opcode::fetch>},
    {"two fetches exchanged", exchange_fetches},
    {"two feeds exchanged", exchange_feeds},
    {"two variables exchanged", exchange_variables},
    {"a copy left out", leave_out_copy},
    {"another value copied", another_of<Opcode::copy>},
    {"what two copies copy exchanged", exchange_copies},
    {"the sides of a branch exchanged", exchange_sides},
    {"another condition", another_condition},
    {"two results exchanged", exchange_results},
    {"two kernels of a region exchanged", exchange_in_region},
    {"an effect left out", leave_out_effect},
};

}  // namespace

std::span<const MeaningChange> meaning_changes() {
  return kChanges;
}

}  // namespace ferry::test

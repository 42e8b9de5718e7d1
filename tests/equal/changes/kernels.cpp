// Changes of kernels: ops, operands, attributes, order.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/equal/changes/families.hpp"
#include "tests/equal/changes/instructions.hpp"

namespace ferry::test {
namespace {

bool is_kernel(const PlanClass&, const Instruction& i) {
  return i.what == Opcode::kernel;
}

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
  const auto chosen = some_of(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && family(plan.string(i.op)) != kFamilies.end();
  });
  if (chosen.empty()) return false;
  const std::string_view before = plan.string(chosen[0].in(plan).op);
  std::vector<std::string_view> others = *family(before);
  std::erase(others, before);
  const auto op = static_cast<std::uint32_t>(plan.strings.size());
  plan.strings.push_back(dice.of(others));
  for (const At& place : chosen) place.in(plan).op = op;
  return true;
}

bool swap_operands(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [&](const PlanClass& c, const Instruction& i) {
    const auto inputs = c.inputs(i);
    return i.what == Opcode::kernel && inputs.size() >= 2 && inputs[0] != inputs[1] &&
           same_type(c.buffers[inputs[0]], c.buffers[inputs[1]]);
  });
  for (const At& place : chosen) {
    PlanClass& c = place.of(plan);
    auto inputs = listed(c, place.in(plan).inputs);
    std::swap(inputs[0], inputs[1]);
    set_operands(c, place.in(plan).inputs, inputs);
  }
  return !chosen.empty();
}

bool another_input(Plan& plan, Dice& dice) {
  return read_another(plan, dice, is_kernel);
}
bool another_output(Plan& plan, Dice& dice) {
  return read_another(plan, dice, is_kernel, true);
}
bool change_attrs(Plan& plan, Dice& dice, bool constants) {
  const auto chosen = some_of(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && i.attrs != kNone && !plan.attrs[i.attrs].empty() &&
           (plan.string(i.op) == "Constant") == constants;
  });
  if (chosen.empty()) return false;
  Attrs attrs = plan.attrs[chosen[0].in(plan).attrs];
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
      T& x = tensor->mutable_data<T>()[element];
      x = static_cast<T>(x == static_cast<T>(1) ? 0 : 1);
    });
  } else {
    return false;
  }
  attrs.set(name, changed);
  const auto number = static_cast<std::uint32_t>(plan.attrs.size());
  plan.attrs.push_back(attrs);
  for (const At& place : chosen) place.in(plan).attrs = number;
  return true;
}

bool another_attribute(Plan& plan, Dice& dice) {
  return change_attrs(plan, dice, false);
}
bool another_constant(Plan& plan, Dice& dice) {
  return change_attrs(plan, dice, true);
}

bool exchange_attributes(Plan& plan, Dice& dice) {
  const auto one = some_of(
      plan, dice, [&](const PlanClass&, const Instruction& i) { return i.what == Opcode::kernel && i.attrs != kNone; });
  if (one.empty()) return false;
  const Instruction like = one[0].in(plan);
  const auto other = some_of(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && i.op == like.op && i.attrs != kNone && i.attrs != like.attrs;
  });
  if (other.empty()) return false;
  const std::uint32_t attrs = other[0].in(plan).attrs;
  for (const At& place : one) place.in(plan).attrs = attrs;
  return true;
}

bool another_random(Plan& plan, Dice& dice) {
  const auto is_random = [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && plan.string(i.op).find("andom") != std::string_view::npos;
  };
  const auto one = some_of(plan, dice, is_random), other = some_of(plan, dice, is_random);
  if (one.empty() || other.empty() || one[0].in(plan).name == other[0].in(plan).name) return false;
  const std::uint32_t name = other[0].in(plan).name;
  for (const At& place : one) place.in(plan).name = name;
  return true;
}

/// In place of a kernel, its input.
bool leave_out_op(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [&](const PlanClass& c, const Instruction& i) {
    return i.what == Opcode::kernel && i.inputs.count > 0 && i.outputs.count == 1 &&
           same_type(c.buffers[c.inputs(i)[0]], c.buffers[c.outputs(i)[0]]);
  });
  const bool second = dice.one_in(2);
  for (const At& place : chosen) {
    PlanClass& c = place.of(plan);
    Instruction& i = place.in(plan);
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
  const auto chosen = some_of(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel || i.what == Opcode::copy;
  });
  for (const At& place : chosen) leave_out(plan, place);
  return !chosen.empty();
}

bool run_twice(Plan& plan, Dice& dice) {
  const auto chosen =
      some_of(plan, dice, [](const PlanClass&, const Instruction& i) { return i.what == Opcode::kernel; });
  for (const At& place : chosen) insert(place.of(plan), place.index, Instruction(place.in(plan)));
  return !chosen.empty();
}

bool exchange_neighbours(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [](const PlanClass& c, const Instruction& i) {
    const auto index = static_cast<std::uint32_t>(&i - c.instructions.data());
    return std::ranges::any_of(c.regions, [&](const Region& r) {
      return r.instructions.contains(index) && r.instructions.contains(index + 1);
    });
  });
  for (const At& place : chosen)
    std::swap(place.of(plan).instructions[place.index], place.of(plan).instructions[place.index + 1]);
  return !chosen.empty();
}

bool move_later(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [](const PlanClass& c, const Instruction& i) {
    const auto index = static_cast<std::uint32_t>(&i - c.instructions.data());
    return i.what == Opcode::kernel && c.regions[1].instructions.contains(index);
  });
  for (const At& place : chosen) {
    PlanClass& c = place.of(plan);
    const Range step = c.regions[1].instructions;
    const auto left = static_cast<std::uint32_t>(step.first + step.count - place.index);
    const std::uint32_t by = left > 1 ? 1 + dice.below(left - 1) : 0;
    std::rotate(c.instructions.begin() + place.index, c.instructions.begin() + place.index + 1,
                c.instructions.begin() + place.index + 1 + by);
    c.stretches.clear();
  }
  return !chosen.empty();
}

bool move_to_setup(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [](const PlanClass& c, const Instruction& i) {
    const auto index = static_cast<std::uint32_t>(&i - c.instructions.data());
    return i.what == Opcode::kernel && c.regions[1].instructions.contains(index) &&
           c.regions[1].instructions.first == c.regions[0].instructions.first + c.regions[0].instructions.count;
  });
  for (const At& place : chosen) {
    PlanClass& c = place.of(plan);
    const std::uint32_t first = c.regions[1].instructions.first;
    for (const std::uint32_t b : c.outputs(place.in(plan)))
      if (c.buffers[b].view_of == kNone && c.buffers[b].space == Buffer::Space::step) {
        PlanDevice& device = c.devices[c.buffers[b].device];
        c.buffers[b].space = Buffer::Space::state;
        c.buffers[b].offset = (device.state_bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
        device.state_bytes =
            (c.buffers[b].offset + c.buffers[b].bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
      }
    std::rotate(c.instructions.begin() + first, c.instructions.begin() + place.index,
                c.instructions.begin() + place.index + 1);
    ++c.regions[0].instructions.count;
    ++c.regions[1].instructions.first;
    --c.regions[1].instructions.count;
    c.stretches.clear();
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
};

}  // namespace

std::span<const MeaningChange> kernel_changes() {
  return kChanges;
}

}  // namespace ferry::test

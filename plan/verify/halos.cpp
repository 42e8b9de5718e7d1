#include "plan/verify/halos.hpp"

#include <string>

#include "base/format.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

class Halos {
 public:
  Halos(const Plan& plan, const Tables& tables) : plan_(plan), tables_(tables) {}

  void check() {
    for (class_ = 0; class_ < plan_.classes.size(); ++class_) {
      for (const Buffer& buffer : plan_class().buffers) check_view(buffer);
      for (const PlanVariable& variable : plan_class().variables)
        if (halo(plan_class().buffers[variable.buffer]) != nullptr)
          reject(
              formatted("variable '{}' on {} has rows that go to others", plan_.string(variable.name), as_is(task())));
      for (const Instruction& i : plan_class().instructions) check(i);
    }
  }

 private:
  [[nodiscard]] const PlanClass& plan_class() const { return plan_.classes[class_]; }
  [[nodiscard]] const Buffer& operand(Range range, std::uint32_t k) const {
    return plan_class().buffers[plan_class().operands[range[k]]];
  }
  [[nodiscard]] const Window* halo(const Buffer& buffer) const {
    const Window* window = buffer.window == kNone ? nullptr : &plan_.windows[buffer.window];
    return window != nullptr && window->has != Window::Has::part ? window : nullptr;
  }
  [[nodiscard]] std::string task() const { return "task " + std::to_string(tables_.tasks_of[class_][0]); }

  void check_view(const Buffer& buffer) const {
    if (buffer.view_of == kNone) return;
    if (halo(buffer) != nullptr || halo(plan_class().buffers[buffer.view_of]) != nullptr)
      reject(formatted("'{}' on {} is a view, and its rows go to others", plan_.string(buffer.name), as_is(task())));
  }

  /// Checks the use of rows for other tasks. A kernel cuts these rows, a collective exchanges them, and a window, maybe
  /// in a stencil, reads them. Kernels, also in tiles, use rows that are read (types.cpp checks how). Rows may also be
  /// copied unchanged.
  void check(const Instruction& i) {
    if (i.what == Opcode::collective) return exchange(i);
    if (i.what == Opcode::collective_wait || i.what == Opcode::kernel || i.what == Opcode::stencil) return;
    for (const Range range : {i.inputs, i.outputs})
      for (std::uint32_t k = 0; k < range.count; ++k) {
        const Buffer& buffer = operand(range, k);
        if (halo(buffer) == nullptr) continue;
        if (i.what == Opcode::tiles && halo(buffer)->has == Window::Has::read) continue;
        if (i.what == Opcode::copy && operand(i.inputs, 0).window == operand(i.outputs, 0).window) continue;
        reject(describe(plan_, i) + " on " + task() + " takes rows that go to others for a value");
      }
  }

  void exchange(const Instruction& i) {
    const Window* const in = i.inputs.count == 0 ? nullptr : halo(operand(i.inputs, 0));
    const Window* const out = i.outputs.count == 0 ? nullptr : halo(operand(i.outputs, 0));
    if (in == nullptr && out == nullptr) return;
    const Collective& collective = plan_.collectives[i.collective()];
    const Schedule& schedule = plan_.schedules[collective.schedule];
    const bool exchanged = in != nullptr && out != nullptr && in->has == Window::Has::given &&
                           out->has == Window::Has::got && in->sizes == out->sizes && in->splits == out->splits &&
                           in->halo_dim == out->halo_dim && in->reads == out->reads && in->rows == out->rows &&
                           schedule.kind == CollectiveKind::all_to_all;
    if (!exchanged) refuse(i, "it does not exchange the rows that others read");
    for (const std::int32_t t : tables_.tasks_of[class_]) check_blocks(i, *in, operand(i.inputs, 0), t);
  }

  /// Requires that the rows that a member gives to each other member are the rows that the other member reads, and that
  /// the rows that it gets are the rows that it reads.
  void check_blocks(const Instruction& i, const Window& halo, const Buffer& buffer, std::int32_t task) {
    const Collective& collective = plan_.collectives[i.collective()];
    const GroupPosition place = tables_.places[collective.grouping][task];
    const auto n = static_cast<std::int64_t>(plan_.schedules[collective.schedule].members);
    for (const SplitDim& split : halo.splits)
      if (split.dim == halo.halo_dim) {
        const GroupPosition along = tables_.places[split.grouping][task];
        if (along.member != place.member || static_cast<std::int64_t>(tables_.members[split.grouping]) != n)
          refuse(i, "the members do not have, in their order, the parts that exchange rows");
      }
    std::int64_t row = 1;
    for (std::size_t d = 0; d < buffer.sizes.size(); ++d)
      if (d != halo.halo_dim) row *= buffer.sizes[d];
    for (std::int64_t other = 0; other < n; ++other) {
      const std::int64_t given = collective.parts[place.member * n + other];
      const std::int64_t got = collective.parts[other * n + place.member];
      if (given != row * rows_sent(halo, n, place.member, other) ||
          got != row * rows_sent(halo, n, other, place.member))
        refuse(i, "member " + std::to_string(place.member) + " gives member " + std::to_string(other) + " " +
                      std::to_string(given) + " elements and gets " + std::to_string(got) +
                      ", which are not the rows that they read");
    }
  }

  [[noreturn]] void refuse(const Instruction& i, const std::string& why) const {
    reject(describe(plan_, i) + " on " + task() + ", " + described(plan_, i.collective()) + ": " + why);
  }

  const Plan& plan_;
  const Tables& tables_;
  std::uint32_t class_ = 0;
};

}  // namespace

void check_halos(const Plan& plan, const Tables& tables) {
  Halos(plan, tables).check();
}

}  // namespace ferry::verifier

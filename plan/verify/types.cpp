// Types: a kernel relies on the types that its op's inference gave when the graph was made. A plan has no graph, so
// this check runs the inference again: for the kernel's inputs, as whole values, it must give the outputs that the plan
// has. If values are split, dims with the same letter in the op's index notation must be split alike. Dims that the op
// needs whole may not be split.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "graph/op/index_notation.hpp"
#include "graph/op/infer.hpp"
#include "kernels/traits.hpp"
#include "ops/control/comm.hpp"
#include "ops/op_set.hpp"
#include "plan/kernel_facts.hpp"
#include "plan/verify/halos.hpp"
#include "plan/verify/verifier.hpp"
#include "plan/verify/verify.hpp"

namespace ferry::verifier {
namespace {

class Types {
 public:
  Types(const Plan& plan, const KnownOps& known)
      : plan_(plan), ops_(known.ops != nullptr ? *known.ops : default_ops()), kernels_(known.kernels) {}

  /// Checks all kernels. Returns the names of unknown ops.
  std::vector<std::string> check() {
    for (class_ = 0; class_ < plan_.classes.size(); ++class_)
      for (const Instruction& i : here().instructions)
        if (i.what == Opcode::kernel && !seen(i)) check(i);
    for (const Case& one : without_def_) {
      class_ = one.plan_class;
      check_packing(*one.instruction);
    }
    return {unknown_.begin(), unknown_.end()};
  }

 private:
  using Splits = std::vector<std::uint32_t>;  // groupings over which a dim is split, the outermost first

  [[nodiscard]] const PlanClass& here() const { return plan_.classes[class_]; }
  [[nodiscard]] const Buffer& operand(Range range, std::uint32_t k) const {
    return here().buffers[here().operands[range[k]]];
  }

  [[noreturn]] void refuse(const Instruction& i, const std::string& why) const {
    const auto task = std::find(plan_.class_of.begin(), plan_.class_of.end(), class_) - plan_.class_of.begin();
    reject(describe(plan_, i) + " on task " + std::to_string(task) + ": " + why);
  }

  // ---- Kernels checked before ----

  /// A kernel that was checked. Many kernels of a plan have the same op, attributes and types of operands.
  struct Case {
    std::uint32_t plan_class = kNone;
    const Instruction* instruction = nullptr;
  };

  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) { return (hash ^ word) * 0x9e3779b97f4a7c15U; }

  /// Whether a kernel like this one was checked before. If not, notes this one.
  bool seen(const Instruction& i) {
    std::uint64_t hash = mixed(i.op, i.attrs);
    for (const Range range : {i.inputs, i.outputs})
      for (std::uint32_t k = 0; k < range.count; ++k) {
        const Buffer& b = operand(range, k);
        hash = mixed(hash, static_cast<std::uint64_t>(b.dtype) << 32U ^ b.window);
        for (const std::int64_t size : b.sizes) hash = mixed(hash, static_cast<std::uint64_t>(size));
      }
    Case& known = cases_[(hash ^ hash >> 32U) % cases_.size()];
    if (known.instruction != nullptr && alike(known, i)) return true;
    known = {class_, &i};
    return false;
  }

  [[nodiscard]] bool alike(const Case& known, const Instruction& i) const {
    const Instruction& other = *known.instruction;
    if (other.op != i.op || other.attrs != i.attrs || other.in_place != i.in_place ||
        plan_.classes[known.plan_class].on_queue(other) != here().on_queue(i) || other.inputs.count != i.inputs.count ||
        other.outputs.count != i.outputs.count)
      return false;
    const PlanClass& there = plan_.classes[known.plan_class];
    const auto same = [&](Range a, Range b) {
      for (std::uint32_t k = 0; k < a.count; ++k) {
        const Buffer& one = there.buffers[there.operands[a[k]]];
        const Buffer& two = operand(b, k);
        if (one.dtype != two.dtype || one.bounded != two.bounded || one.window != two.window ||
            (one.space == Buffer::Space::none) != (two.space == Buffer::Space::none) ||
            here().devices[two.device].kind != there.devices[one.device].kind || one.sizes != two.sizes)
          return false;
      }
      return true;
    };
    return same(other.inputs, i.inputs) && same(other.outputs, i.outputs);
  }

  // ---- A kernel ----

  void check(const Instruction& i) {
    check_kernel(i);
    const std::string_view name = plan_.string(i.op);
    for (const OpDef* def : kCommOps)
      if (def->name == name) return check_parts(i, *def);
    if (const OpDef* def = ops_.find(name)) return check_op(i, *def);
    without_def_.push_back({class_, &i});
  }

  [[nodiscard]] const Attrs& attrs_of(const Instruction& i) const {
    static const Attrs kNoAttrs;
    return i.attrs == kNone ? kNoAttrs : plan_.attrs[i.attrs];
  }
  [[nodiscard]] DeviceKind device_of(const Instruction& i) const {
    return here().on_queue(i) ? here().devices[here().queues[i.strand - here().threads].device].kind : DeviceKind::cpu;
  }

  /// Checks that the kernel exists for its device, and that the plan overwrites only inputs that the kernel may
  /// overwrite (Kernel::in_place).
  void check_kernel(const Instruction& i) const {
    if (kernels_ == nullptr) return;
    const Kernel* const kernel = kernels_->find(plan_.string(i.op), device_of(i));
    if (kernel == nullptr && here().on_queue(i))
      refuse(i, "there is no kernel for it here on " + std::string(name_of(device_of(i))) +
                    ": say which devices are meant, for example --device sim");
    const std::uint32_t taken = kernel == nullptr ? 0 : kernel->in_place;
    if ((i.in_place & ~taken) != 0)
      refuse(i, "the plan lets it write over inputs (mask " + std::to_string(i.in_place) +
                    ") that its kernel does not write over (mask " + std::to_string(taken) + ")");
  }

  [[nodiscard]] Type whole(const Buffer& b) const { return whole_type(plan_, b); }
  static Type local(const Buffer& b) { return type_of(b.dtype, b.sizes.vector(), b.bounded); }

  void check_op(const Instruction& i, const OpDef& def) {
    for (const Range range : {i.inputs, i.outputs})
      for (std::uint32_t k = 0; k < range.count; ++k)
        if (halo(operand(range, k)) != nullptr) refuse(i, "it takes rows that go to others for a value");
    for (std::uint32_t k = 0; k < i.outputs.count; ++k)
      if (has_rows(operand(i.outputs, k))) refuse(i, "it gives " + named(operand(i.outputs, k)) + " as rows");
    if (def.is(kControlFlow)) refuse(i, "it is no kernel: it has bodies");
    const int taken = def.input_count();
    const bool packed = taken > 0 && static_cast<int>(i.inputs.count) == taken + 1;
    const std::uint32_t count = packed ? i.inputs.count - 1 : i.inputs.count;
    std::vector<Type> inputs;
    for (std::uint32_t k = 0; k < count; ++k) inputs.push_back(whole(operand(i.inputs, k)));
    const PlanKernelFacts facts(std::move(inputs), attrs_of(i));
    const std::vector<Type> outputs = inferred(i, def, facts);
    if (outputs.size() != i.outputs.count)
      refuse(i,
             "it gives " + std::to_string(outputs.size()) + " values, the plan has " + std::to_string(i.outputs.count));
    for (std::uint32_t k = 0; k < i.outputs.count; ++k)
      if (const Type made = whole(operand(i.outputs, k)); made != outputs[k])
        refuse(i,
               "output " + std::to_string(k) + " is " + made.str() + " in the plan, its op gives " + outputs[k].str());
    for (std::uint32_t k = 0; k < count; ++k)
      if (operand(i.inputs, k).space == Buffer::Space::none && !is_unread(def, k))
        refuse(i, "it reads input " + std::to_string(k) + ", which has no bytes");
    check_splits(i, def, facts);
    if (packed) check_packed(i, count);
  }

  static bool is_unread(const OpDef& def, std::uint32_t k) { return k < 32 && (def.unread >> k & 1U) != 0; }

  [[nodiscard]] std::vector<Type> inferred(const Instruction& i, const OpDef& def, const PlanKernelFacts& facts) const {
    try {
      return infer_types(def, facts);
    } catch (const Error& error) {
      refuse(i, error.text());
    }
  }

  // ---- Splits ----

  [[nodiscard]] Splits splits_of(const Buffer& b, std::size_t dim) const {
    Splits splits;
    if (b.window != kNone)
      for (const SplitDim& split : plan_.windows[b.window].splits)
        if (split.dim == dim) splits.push_back(split.grouping);
    return splits;
  }

  void check_splits(const Instruction& i, const OpDef& def, const PlanKernelFacts& facts) const {
    bool any = false;
    for (const Range range : {i.inputs, i.outputs})
      for (std::uint32_t k = 0; k < range.count; ++k) any = any || operand(range, k).window != kNone;
    if (!any) return;
    const IndexSpace space = bound_index(i, def, facts);
    const Slid slid = check_slides(i, def, facts);
    std::vector<const Splits*> of(space.sizes.size(), nullptr);
    std::vector<Splits> kept;
    kept.reserve(space.sizes.size());
    std::vector<std::int64_t> sizes(space.sizes.size(), 0);
    const auto meet = [&](const Buffer& b, const std::vector<int>& letters, const std::vector<bool>* spread, int k) {
      for (std::size_t d = 0; d < letters.size(); ++d) {
        if (slid.contains({k, static_cast<int>(d)})) continue;
        if (b.window != kNone && rows_along(plan_.windows[b.window], d) != nullptr)
          refuse(i, "it reads rows of dim " + std::to_string(d) + " of " + named(b) +
                        ", but uses only a part of this dim");
        const auto letter = static_cast<std::size_t>(letters[d]);
        Splits splits = splits_of(b, d);
        const bool alone = space.whole[letter] || (spread != nullptr && (*spread)[d]);
        if (alone && !splits.empty())
          refuse(i, "dim " + std::to_string(d) + " of " + named(b) + " is split, which it must have whole");
        if (alone) continue;
        if (of[letter] == nullptr)
          of[letter] = &kept.emplace_back(std::move(splits));
        else if (*of[letter] != splits)
          refuse(i, "dim " + std::to_string(d) + " of " + named(b) + " is split otherwise than those it goes with");
        check_regrouped(i, b, d, sizes[letter]);
      }
    };
    for (std::uint32_t k = 0; k < space.inputs.size(); ++k)
      if (!is_unread(def, k)) meet(operand(i.inputs, k), space.inputs[k], &space.broadcast[k], static_cast<int>(k));
    for (std::uint32_t k = 0; k < space.outputs.size(); ++k)
      meet(operand(i.outputs, k), space.outputs[k], nullptr, k == 0 ? kOutput : kOutput - static_cast<int>(k));
  }

  /// One letter may denote dims of different sizes (of a reshape, for example). Their parts correspond to each other
  /// only if the parts of a dim are all equal, and the dims are split along one axis. `size`: the size of the first
  /// split dim with this letter, or 0 before it is found.
  void check_regrouped(const Instruction& i, const Buffer& b, std::size_t d, std::int64_t& size) const {
    if (splits_of(b, d).empty()) return;
    const std::int64_t mine = plan_.windows[b.window].sizes[d], members = members_along(b, d);
    if (size == 0) size = mine;
    if (size != mine && (members == 0 || size % members != 0 || mine % members != 0))
      refuse(i, "the parts of dim " + std::to_string(d) + " of " + named(b) + ", of size " + std::to_string(mine) +
                    ", are not the parts of the dim of size " + std::to_string(size) + " with the same letter");
  }

  /// The split dims along which windows slide: (number of the input, dim), or (kOutput, dim) for output 0.
  using Slid = std::set<std::pair<int, int>>;
  static constexpr int kOutput = -1;

  /// Checks each split dim along which the op slides windows: every member must have the rows that its part reads.
  [[nodiscard]] Slid check_slides(const Instruction& i, const OpDef& def, const PlanKernelFacts& facts) const {
    Slid slid;
    if (def.slides == nullptr) return slid;
    for (const SlidingDim& one : slides_of(i, def, facts)) {
      const auto of = [&](const SlidingDim::Input& input) -> const Buffer& {
        return operand(i.inputs, static_cast<std::uint32_t>(input.input));
      };
      const Buffer& first = one.output < 0 ? of(one.inputs[0]) : operand(i.outputs, 0);
      const auto dim = static_cast<std::size_t>(one.output < 0 ? one.inputs[0].dim : one.output);
      const Splits splits = splits_of(first, dim);
      if (splits.empty()) continue;
      const std::int64_t members = members_along(first, dim);
      if (members == 0) refuse(i, "dim " + std::to_string(dim) + " of " + named(first) + " is split over two groups");
      if (one.output >= 0) slid.emplace(kOutput, one.output);
      for (const SlidingDim::Input& input : one.inputs) {
        check_rows_read(i, of(input), input, splits, members);
        slid.emplace(input.input, input.dim);
      }
    }
    return slid;
  }

  void check_rows_read(const Instruction& i, const Buffer& b, const SlidingDim::Input& input, const Splits& splits,
                       std::int64_t members) const {
    const auto dim = static_cast<std::size_t>(input.dim);
    const std::string which = "dim " + std::to_string(dim) + " of " + named(b);
    if (splits_of(b, dim) != splits) refuse(i, which + " is split otherwise than those it goes with");
    const Window& window = plan_.windows[b.window];
    const Reads* const rows = rows_along(window, dim);
    if (rows != nullptr && *rows != input.reads) refuse(i, "its windows read other rows of " + which);
    for (std::int64_t member = 0; member < members && rows == nullptr; ++member)
      if (!rows_read(input.reads, window.sizes[dim], members, member)
               .within(rows_of_part(window.sizes[dim], members, member)))
        refuse(i, "member " + std::to_string(member) + " reads rows of " + which + " that it does not have");
  }

  [[nodiscard]] std::vector<SlidingDim> slides_of(const Instruction& i, const OpDef& def,
                                                  const PlanKernelFacts& facts) const {
    try {
      return def.slides(facts);
    } catch (const Error& error) {
      refuse(i, error.text());
    }
  }

  [[nodiscard]] std::string named(const Buffer& b) const {
    return b.name == kNone ? "a scratch buffer" : formatted("'{}'", plan_.string(b.name));
  }

  [[nodiscard]] IndexSpace bound_index(const Instruction& i, const OpDef& def, const PlanKernelFacts& facts) const {
    try {
      const std::string notation = notation_of(def, facts);
      if (notation.empty()) refuse(i, "its values are split, which it does not allow");
      return bind_index(notation, facts);
    } catch (const Error& error) {
      refuse(i, error.text());
    }
  }

  // ---- Ops that placement adds ----

  /// Checks an op that changes only how a value is split: the whole value must stay the same.
  void check_parts(const Instruction& i, const OpDef& def) const {
    if (def.role == OpRole::window) return check_window(i, def);
    if (def.reduce != Reduce::none) return check_sum(i);
    if (def.infer != nullptr) return check_bound(i, def);
    if (i.inputs.count != 1 || i.outputs.count != 1) refuse(i, "it takes and gives one value");
    const Buffer &in = operand(i.inputs, 0), &out = operand(i.outputs, 0);
    if (whole(in) != whole(out)) refuse(i, "it makes " + whole(out).str() + " of " + whole(in).str());
    if (in.space == Buffer::Space::none) refuse(i, "it reads " + named(in) + ", which has no bytes");
    if (halo(in) != nullptr || (halo(out) != nullptr) != (def.role == OpRole::cut_halo))
      refuse(i, "it takes rows that go to others for a value");
    if (has_rows(out) || (has_rows(in) && def.role != OpRole::cut_halo)) refuse(i, "it takes rows for a part");
    if (def.role == OpRole::take_part) return check_part(i, in, out);
    if (def.role == OpRole::cut_halo) return check_cut_halo(i, in, out);
    if (in.bounded) refuse(i, "it moves elements and not their extent");
    if (in.sizes != out.sizes) refuse(i, "it makes " + local(out).str() + " of " + local(in).str());
    const AttrValue *dim = attrs_of(i).find("dim"), *parts = attrs_of(i).find("parts");
    const auto* const d = std::get_if<std::int64_t>(dim);
    const auto* const n = std::get_if<std::int64_t>(parts);
    if (d == nullptr || n == nullptr || *d < 0 || *d >= static_cast<std::int64_t>(in.sizes.size()) || *n < 1 ||
        *n > plan_.topology.size())
      refuse(i, "its dim or number of parts is out of range");
  }

  /// Checks a sum of values that have the same type and the same split.
  void check_sum(const Instruction& i) const {
    if (i.inputs.count == 0 || i.outputs.count != 1) refuse(i, "it takes values and gives one");
    const Buffer& out = operand(i.outputs, 0);
    for (std::uint32_t k = 0; k < i.inputs.count; ++k) {
      const Buffer& in = operand(i.inputs, k);
      if (whole(in) != whole(out) || in.sizes != out.sizes || in.window != out.window || in.bounded || has_rows(in) ||
          halo(in) != nullptr)
        refuse(i, "it makes " + whole(out).str() + " of " + whole(in).str());
      if (in.space == Buffer::Space::none) refuse(i, "it reads " + named(in) + ", which has no bytes");
    }
  }

  /// Checks an op that takes the extent from a bounded value, or gives it back: the elements must keep their split.
  void check_bound(const Instruction& i, const OpDef& def) const {
    if (static_cast<int>(i.inputs.count) != def.input_count() || i.outputs.count != 1)
      refuse(i, "it takes " + std::to_string(def.input_count()) + " values and gives one");
    std::vector<Type> inputs;
    for (std::uint32_t k = 0; k < i.inputs.count; ++k) {
      inputs.push_back(whole(operand(i.inputs, k)));
      if (operand(i.inputs, k).space == Buffer::Space::none)
        refuse(i, "it reads input " + std::to_string(k) + ", which has no bytes");
      if (has_rows(operand(i.inputs, k))) refuse(i, "it takes rows for a part");
    }
    const Buffer &in = operand(i.inputs, 0), &out = operand(i.outputs, 0);
    const std::vector<Type> made = inferred(i, def, PlanKernelFacts(std::move(inputs), attrs_of(i)));
    if (whole(out) != made[0] || in.bounded != (def.role != OpRole::with_extent))
      refuse(i,
             "it makes " + whole(out).str() + " of " + whole(in).str() + ", and moves elements and not their extent");
    const Buffer& extent = def.role == OpRole::extent_of ? out : operand(i.inputs, i.inputs.count - 1);
    if (def.role != OpRole::fill_bound && (extent.window != kNone || local(extent) != Type{DType::int64, Shape{1}}))
      refuse(i, "its extent is " + local(extent).str());
    if (def.role != OpRole::extent_of && (in.window != out.window || in.sizes != out.sizes))
      refuse(i, "it makes " + local(out).str() + " of " + local(in).str());
  }

  /// Checks that the part that the op takes is within the input's part: the output is split as the input is, and then
  /// further.
  void check_part(const Instruction& i, const Buffer& in, const Buffer& out) const {
    for (std::size_t d = 0; d < in.sizes.size(); ++d) {
      const Splits before = splits_of(in, d), after = splits_of(out, d);
      if (before.size() > after.size() || !std::equal(before.begin(), before.end(), after.begin()))
        refuse(i, named(out) + " is no part of " + named(in));
    }
  }

  // ---- Halos ----

  [[nodiscard]] const Window* halo(const Buffer& b) const {
    const Window* const window = b.window == kNone ? nullptr : &plan_.windows[b.window];
    const bool moves = window != nullptr && (window->has == Window::Has::given || window->has == Window::Has::got);
    return moves ? window : nullptr;
  }
  [[nodiscard]] bool has_rows(const Buffer& b) const {
    return b.window != kNone && plan_.windows[b.window].has == Window::Has::read;
  }

  /// The members over which a dim of the buffer is split; 0 unless it is split once, into groups of one size.
  [[nodiscard]] std::int64_t members_along(const Buffer& b, std::size_t dim) const {
    const Splits splits = splits_of(b, dim);
    if (splits.size() != 1) return 0;
    const Grouping& grouping = plan_.groupings[splits[0]];
    const auto same = [&](const auto& group) { return group.size() == grouping[0].size(); };
    return std::ranges::all_of(grouping, same) ? static_cast<std::int64_t>(grouping[0].size()) : 0;
  }

  /// Checks that the output has the rows of the input's part that other members read, as the attributes describe them.
  void check_cut_halo(const Instruction& i, const Buffer& in, const Buffer& out) const {
    if (in.bounded) refuse(i, "it moves elements and not their extent");
    check_halo_attrs(i, in, *halo(out), Window::Has::given);
  }

  void check_halo_attrs(const Instruction& i, const Buffer& of, const Window& halo, Window::Has has) const {
    if (of.window == kNone || halo.has != has || plan_.windows[of.window].sizes != halo.sizes ||
        plan_.windows[of.window].splits != halo.splits || plan_.windows[of.window].rows != halo.rows)
      refuse(i, "its rows are not of " + named(of));
    std::vector<std::int64_t> reads;
    for (const Reads& one : halo.reads)
      reads.insert(reads.end(), {one.begin, one.step, one.size, one.extent, one.windows.begin, one.windows.step,
                                 one.windows.extent});
    const std::int64_t members = members_along(of, halo.halo_dim);
    if (members == 0 || ints(i, "reads") != reads || number(i, "dim") != static_cast<std::int64_t>(halo.halo_dim) ||
        number(i, "parts") != members)
      refuse(i, "its attributes do not fit its rows");
  }

  [[nodiscard]] std::vector<std::int64_t> ints(const Instruction& i, std::string_view name) const {
    const auto* const found = std::get_if<std::vector<std::int64_t>>(attrs_of(i).find(name));
    if (found == nullptr) refuse(i, "it has no attribute '" + std::string(name) + "'");
    return *found;
  }
  [[nodiscard]] std::int64_t number(const Instruction& i, std::string_view name) const {
    const auto* const found = std::get_if<std::int64_t>(attrs_of(i).find(name));
    if (found == nullptr) refuse(i, "it has no attribute '" + std::string(name) + "'");
    return *found;
  }

  /// Checks a window. Its output is split as its input is. A dim that it reads at shifted positions must be whole, with
  /// one exception: along one dim, each member may have only the rows that it reads, in its part or in its halo.
  void check_window(const Instruction& i, const OpDef& def) const {
    if (i.inputs.count < 1 || i.inputs.count > 2 || i.outputs.count != 1) refuse(i, "it takes a value and its halo");
    const Buffer &in = operand(i.inputs, 0), &out = operand(i.outputs, 0);
    if (in.space == Buffer::Space::none || in.bounded || out.bounded || halo(in) != nullptr || halo(out) != nullptr)
      refuse(i, "it reads no value of fixed size");
    if (std::get_if<double>(attrs_of(i).find("value")) == nullptr) refuse(i, "it has no attribute 'value'");
    const Window* const got = i.inputs.count == 2 ? halo(operand(i.inputs, 1)) : nullptr;
    if (i.inputs.count == 2) {
      if (got == nullptr || operand(i.inputs, 1).dtype != in.dtype) refuse(i, "input 1 is no halo");
      check_halo_attrs(i, in, *got, Window::Has::got);
    }
    if (const std::vector<Type> made = inferred(i, def, PlanKernelFacts({whole(in)}, attrs_of(i)));
        whole(out) != made[0])
      refuse(i, "output 0 is " + whole(out).str() + " in the plan, its op gives " + made[0].str());
    const std::vector<std::int64_t> begin = ints(i, "begin"), step = ints(i, "step"), size = ints(i, "size");
    const Type all = whole(in);
    for (std::size_t d = 0; d < begin.size(); ++d) {
      const Reads reads{begin[d], step[d], size[d]};
      if (!reads_are_legal(reads)) refuse(i, "dim " + std::to_string(d) + " overflows 64 bits");
      const std::int64_t rows = all.shape[static_cast<int>(d)].size();
      const bool same = reads == Reads{.begin = 0, .step = 1, .size = rows};
      const Reads *const before = in.window == kNone ? nullptr : rows_along(plan_.windows[in.window], d),
                         *const after = out.window == kNone ? nullptr : rows_along(plan_.windows[out.window], d);
      if ((before != nullptr && (after == nullptr || *before != *after)) || (after != nullptr && !same))
        refuse(i, "dim " + std::to_string(d) + " of " + named(in) + " has other rows than it reads");
      const Splits splits = splits_of(in, d);
      if (after != nullptr && splits.empty()) continue;  // the input has all rows
      if (splits != splits_of(out, d))
        refuse(i, "dim " + std::to_string(d) + " of " + named(out) + " has other parts than the dim of " + named(in));
      if (before != nullptr || splits.empty()) continue;
      if (after != nullptr)
        check_rows(i, in, d, *after, got);
      else if (!same)
        check_rows(i, in, d, reads, got);
    }
  }

  void check_rows(const Instruction& i, const Buffer& in, std::size_t d, const Reads& reads, const Window* got) const {
    const std::int64_t members = members_along(in, d), all = plan_.windows[in.window].sizes[d];
    if (members == 0 || number(i, "dim") != static_cast<std::int64_t>(d) || number(i, "parts") != members)
      refuse(i, "dim " + std::to_string(d) + " of " + named(in) + " is split, which it must have whole");
    for (std::int64_t member = 0; member < members; ++member) {
      const Rows own = rows_of_part(all, members, member), read = rows_read(reads, all, members, member);
      const Rows come = got == nullptr ? Rows{} : rows_read(*got, members, member);
      if (!read.in({0, own.begin}).within(come) || !read.in({own.end, all}).within(come))
        refuse(i, "member " + std::to_string(member) + " reads rows of " + named(in) + " that it does not have");
    }
  }

  /// Checks the last input, which is the packed form of another input (Kernel::packing).
  void check_packed(const Instruction& i, std::uint32_t count) {
    const Buffer& last = operand(i.inputs, count);
    if (last.window != kNone || last.bounded || last.sizes.size() != 1 || last.space == Buffer::Space::none)
      refuse(i, "it takes " + std::to_string(count) + " inputs, " + std::to_string(count + 1) + " are given");
    if (kernels_ == nullptr) return;
    std::vector<Type> inputs, outputs;
    for (std::uint32_t k = 0; k < count; ++k) inputs.push_back(local(operand(i.inputs, k)));
    for (std::uint32_t k = 0; k < i.outputs.count; ++k) outputs.push_back(local(operand(i.outputs, k)));
    std::vector<std::vector<std::int64_t>> wholes;
    std::vector<PlacedPart> parts;
    bool any = false;
    for (const Range range : {Range{i.inputs.first, count}, i.outputs})
      for (std::uint32_t k = 0; k < range.count; ++k) {
        any = any || operand(range, k).window != kNone;
        wholes.push_back(whole(operand(range, k)).shape.sizes());
      }
    if (any)
      for (const auto& sizes : wholes) parts.push_back({sizes, {}});
    const Kernel* kernel = kernels_->find(plan_.string(i.op), device_of(i));
    const bool packs = kernel != nullptr && kernel->packing.elements != nullptr && kernel->packing.input < count;
    const std::int64_t elements = packs ? kernel->packing.elements({.name = {},
                                                                    .attrs = attrs_of(i),
                                                                    .inputs = inputs,
                                                                    .outputs = outputs,
                                                                    .data_folder = {},
                                                                    .parts = parts})
                                        : 0;
    if (elements == 0 || elements != last.sizes[0] || inputs[kernel->packing.input].dtype != last.dtype)
      refuse(i, "its last input, " + local(last).str() + ", is not what its kernel packs");
    const Packed packed{kernel->packing.op, &attrs_of(i), inputs[kernel->packing.input], local(last)};
    if (!is_taken(packed)) packed_.push_back(packed);
  }

  /// The packed form of a value of the type `from`, by the kernel of `op` with these attributes.
  struct Packed {
    std::string_view op;
    const Attrs* attrs = nullptr;
    Type from, to;
  };

  /// Whether a kernel of the plan takes this packed form as an input.
  [[nodiscard]] bool is_taken(const Packed& packed) const {
    return std::ranges::any_of(packed_, [&](const Packed& other) {
      return other.op == packed.op && other.from == packed.from && other.to == packed.to &&
             (other.attrs == packed.attrs || other.attrs->same(*packed.attrs));
    });
  }

  /// Checks an op without a definition. It must pack an input for kernels of the plan, which define the size of its
  /// output.
  void check_packing(const Instruction& i) {
    const std::string_view op = plan_.string(i.op);
    if (std::ranges::find(packed_, op, &Packed::op) == packed_.end()) {
      unknown_.emplace(op);
      return;
    }
    if (i.inputs.count != 1 || i.outputs.count != 1) refuse(i, "it packs one value into one other");
    const Buffer &from = operand(i.inputs, 0), &to = operand(i.outputs, 0);
    if (from.space == Buffer::Space::none || to.window != kNone || to.bounded ||
        !is_taken({op, &attrs_of(i), local(from), local(to)}))
      refuse(i, "it packs " + local(from).str() + " into " + local(to).str() + ", which no kernel takes");
  }

  const Plan& plan_;
  const OpSet& ops_;
  const KernelLookup* const kernels_;
  std::uint32_t class_ = 0;
  std::set<std::string, std::less<>> unknown_;
  std::vector<Case> without_def_;
  std::vector<Packed> packed_;   // packed inputs of the plan's kernels
  std::array<Case, 256> cases_;  // by hash; a new entry replaces an old one
};

}  // namespace

std::vector<std::string> check_types(const Plan& plan, const KnownOps& known) {
  return Types(plan, known).check();
}

}  // namespace ferry::verifier

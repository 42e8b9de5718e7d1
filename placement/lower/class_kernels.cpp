#include "placement/lower/class_kernels.hpp"

#include <algorithm>

#include "plan/kernel_work.hpp"

namespace ferry {
namespace {

/// Fusing kernels that work by rows pays only for values too large for the second-level cache: a value must have at
/// least kRowsPay × fuse_from elements, and each row at least fuse_from / kShortestRow elements. Sums can be compiled
/// together with elementwise ops, so they pay for all values of fuse_from elements, with rows of a quarter as many.
constexpr std::int64_t kRowsPay = 32, kShortestRow = 64, kShortestSum = 4 * kShortestRow;

}  // namespace

void ClassKernels::add(const Node& node, Instruction instruction, const Buffers& in) {
  const bool on_host = program_.runs_on_host(node);
  const DeviceKind kind = on_host ? DeviceKind::cpu : program_.where(node).kind;
  if (facts_.def != node.def || facts_.kind != kind) facts_ = facts_of(*node.def, kind);
  instruction.op = facts_.op;
  instruction.attrs = tables_.attrs(node.attrs);
  const Kernel& kernel = *facts_.kernel;
  in_ = in;
  out_.clear();
  for (const PValueId value : node.outputs) {
    out_.push_back(on_host ? buffers_.define_on_host(value) : buffers_.define(value));
  }
  const bool movable = plan_.may_spread(plan_.region());
  const bool fusable = is_fusable(node);
  if ((movable || fusable) && is_free(node))
    instruction.may = static_cast<std::uint8_t>((movable ? kMovable : 0) | (fusable ? kFusable : 0));
  made_in_.resize(role_.buffers.size(), kNone);
  for (std::uint32_t b : out_) made_in_[b] = plan_.region();
  if (join_in_place(node)) return;
  if (kernel.packing.elements != nullptr && !node.once) add_packed(instruction, node);
  if (kernel.scratch_bytes != nullptr || !takes_all(in_) || !takes_all(out_)) {
    const std::int64_t scratch = scratch_of(kernel, setup_of(node));
    if (scratch > 0) instruction.scratch = buffers_.scratch_with(out_.empty() ? in_[0] : out_[0], scratch);
  }
  if (kernel.row != nullptr && instruction.may != 0) store_row_length(node);
  instruction.in_place = kernel.in_place;
  if (on_host) return push_on_host(instruction);
  plan_.push(instruction, in_, out_);
  if (movable)
    plan_.facts.work[instruction.name] =
        kernel_work(*node.def, tables_.plan(), role_, plan_.list(plan_.region()).back());
}

void ClassKernels::add_kept(BufferId buffer) {
  made_in_.resize(role_.buffers.size(), kNone);
  made_in_[buffer] = 0;
}

/// Adds a kernel that runs on the host. If a message of several values is assembled in an output's buffer, and that
/// buffer is on another device, the kernel writes to the host and a copy follows.
void ClassKernels::push_on_host(const Instruction& instruction) {
  Buffers made;
  for (const std::uint32_t out : out_) made.push_back(buffers_.on_host(out));
  plan_.push(instruction, in_, made);
  Instruction copy;
  copy.what = Opcode::copy;
  copy.name = instruction.name;
  copy.line = instruction.line;
  for (std::size_t k = 0; k < out_.size(); ++k)
    if (made[k] != out_[k]) plan_.push(copy, {made[k]}, {out_[k]});
}

/// Stores the row length of the kernel for fuse_elements, if fusing by rows pays (docs/internals/decisions/tiles.md).
void ClassKernels::store_row_length(const Node& node) {
  const Buffer& first = role_.buffers[in_[0]];
  const auto elements = elements_of(first);
  const std::int64_t from = plan_.facts.fuse_from;
  const bool is_sum = node.def->name == "Sum";
  if (from == 0 || elements < (is_sum ? from : kRowsPay * from)) return;
  const std::int64_t row = row_of(*facts_.kernel, setup_of(node));
  if (row > 0 && row * (is_sum ? kShortestSum : kShortestRow) >= from) plan_.facts.rows[out_[0]] = row;
}

/// For an op that joins its inputs, such as a concat, lets kernels write the inputs directly to their positions in the
/// op's output, so that the op needs no instruction. This is possible if each input is contiguous in the output and a
/// kernel of this region makes it. It is not done if a message sends the output, because a message works on one buffer,
/// not on the parts of one.
bool ClassKernels::join_in_place(const Node& node) {
  if (out_.size() != 1 || shared_.messages.carried[node.outputs[0]]) return false;
  const Buffer& whole = role_.buffers[out_[0]];
  const std::vector<std::int64_t>& sizes = whole.sizes;
  if (node.def->joins == nullptr || whole.bounded || whole.view_of != kNone) return false;
  const std::size_t dim = node.def->joins(*node.attrs, sizes.size());
  for (std::size_t d = 0; d < dim; ++d)
    if (sizes[d] != 1) return false;
  for (std::uint32_t b : in_) {
    if (made_in_[b] != plan_.region() || !buffers_.may_be_part(b) || role_.buffers[b].device != whole.device ||
        std::count(in_.begin(), in_.end(), b) != 1)
      return false;
  }
  std::uint64_t offset = 0;
  for (std::uint32_t b : in_) {
    buffers_.place_in(b, out_[0], offset);
    offset += role_.buffers[b].bytes;
  }
  return true;
}

/// Adds the packed form of an input as the last input, if the input is made in the setup region, or is a variable that
/// no step sets. Later, pack_inputs adds one packing instruction for all users of the packed form.
void ClassKernels::add_packed(const Instruction& user, const Node& node) {
  if (!takes_all(in_)) return;
  const Packing& packing = facts_.kernel->packing;
  const std::int64_t elements = packing.elements(setup_of(node));
  const BufferId from = elements > 0 ? in_[packing.input] : BufferId(kNone);
  if (from == kNone || made_in_[storage_of(role_, from)] != 0) return;
  Instruction instruction = user;
  instruction.may = 0;
  instruction.op = tables_.string(packing.op);
  const std::vector<Attrs>& attrs = tables_.plan().attrs;
  std::vector<Instruction>& all = plan_.packing[storage_of(role_, from)];
  const auto same = std::ranges::find_if(all, [&](const Instruction& other) {
    const bool alike = other.attrs == instruction.attrs || (other.attrs != kNone && instruction.attrs != kNone &&
                                                            attrs[other.attrs].same(attrs[instruction.attrs]));
    return alike && other.op == instruction.op && role_.inputs(other)[0] == from &&
           role_.buffers[role_.outputs(other)[0]].sizes[0] == elements;
  });
  if (same != all.end()) return in_.push_back(role_.operands[same->outputs.first]);
  const std::uint32_t to = buffers_.add_vector_like(from, elements);
  plan_.add_operands(instruction, {from}, {to});
  all.push_back(instruction);
  in_.push_back(to);
}

bool ClassKernels::is_fusable(const Node& node) {
  const Kernel& kernel = *facts_.kernel;
  if (facts_.kind == DeviceKind::gpu) {
    if (!program_.topology->gpu_regions()) return false;
    return kernel.finishes ? takes_all(in_) && takes_all(out_) : is_scalar(kernel, setup_of(node));
  }
  const bool shifts = kernel.shifting.shifts != nullptr && kernel.shifting.in_runs(*node.attrs);
  return kernel.elementwise || kernel.row != nullptr || shifts || kernel.finishes;
}

/// Whether passes may move the node: it has no effect or state, and the user has not ordered it relative to other ops.
bool ClassKernels::is_free(const Node& node) const {
  const Op op = node.graph->op(node.op);
  const bool ordered = &op.graph() == program_.graph && shared_.ordered[op.id()];
  return !ordered && op.after().empty() && !node.def->is(kEffect) && !node.def->is(kStateful);
}

ClassKernels::Facts ClassKernels::facts_of(const OpDef& def, DeviceKind kind) {
  const Facts facts{&def, kind, tables_.string(def.name), program_.kernels->find(def.name, kind)};
  FERRY_ASSERT(facts.kernel != nullptr, "an op without a kernel was placed");
  if (facts.kernel->elementwise || !facts.kernel->scalar.function.empty()) plan_.facts.elementwise.insert(facts.op);
  if (facts.kernel->shifting.shifts != nullptr) plan_.facts.shifts.insert(facts.op);
  if (facts.kernel->finishes) plan_.facts.heads.insert(facts.op);
  if (facts.kernel->streams) plan_.facts.streams.insert(facts.op);
  return facts;
}

bool ClassKernels::takes_all(const Buffers& buffers) const {
  return std::all_of(buffers.begin(), buffers.end(),
                     [this](std::uint32_t b) { return facts_.kernel->takes.has(role_.buffers[b].dtype); });
}

KernelSetup ClassKernels::setup_of(const Node& node) {
  in_types_ = types_of(in_);
  out_types_ = types_of(out_);
  wholes_.clear();
  parts_.clear();
  bool any = false;
  for (const Buffers* buffers : {&in_, &out_})
    for (const std::uint32_t b : *buffers) {
      const Buffer& buffer = role_.buffers[b];
      any = any || buffer.window != kNone;
      wholes_.push_back(buffer.window == kNone ? buffer.sizes.vector() : tables_.plan().windows[buffer.window].sizes);
    }
  if (any)
    for (const auto& whole : wholes_) parts_.push_back({whole, {}});
  return {
      .name = {}, .attrs = *node.attrs, .inputs = in_types_, .outputs = out_types_, .data_folder = {}, .parts = parts_};
}

std::vector<Type> ClassKernels::types_of(const Buffers& buffers) const {
  std::vector<Type> types;
  types.reserve(buffers.size());
  for (std::uint32_t b : buffers) types.push_back(buffers_.type_of(b));
  return types;
}

}  // namespace ferry

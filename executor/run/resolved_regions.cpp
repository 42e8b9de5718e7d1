// The parts of ResolvedPlan that resolve instructions which run together: tile regions of the host and of devices,
// stencils, epilogues.
#include <algorithm>
#include <map>

#include "executor/run/resolved.hpp"

namespace ferry {
namespace {

/// The op as a step of a chain (ComputeChain).
std::optional<ChainStep::Op> chain_op(std::string_view op, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float64) return std::nullopt;
  if (op == "Add") return ChainStep::Op::add;
  if (op == "Sub") return ChainStep::Op::sub;
  if (op == "Mul") return ChainStep::Op::mul;
  return std::nullopt;
}

/// Whether the kernel is one of ferry's for CPUs, which have the bits of the functors.
bool is_own(const Kernel& kernel) {
  return std::ranges::any_of(cpu_kernel_levels(),
                             [&](const KernelTable& table) { return table.find(kernel.op) == &kernel; });
}

}  // namespace

void ResolvedPlan::resolve_tiles(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                                 std::uint32_t depth) {
  if (instruction.tile_elements() == 0) return resolve_epilogue(resolved, instruction, context, depth);
  if (role_.on_queue(instruction)) return resolve_device_region(resolved, instruction, context, depth);
  const Range members = role_.regions[instruction.region()].instructions;
  const std::int64_t elements = tiled_elements(role_, instruction);
  TileWork& work = tiles_.emplace_back(TileWork{.elements = elements,
                                                .tile = instruction.tile_elements(),
                                                .parallel = context.parallel,
                                                .step = numbers_[0],
                                                .iterations = {iterations(), depth},
                                                .members = {},
                                                .arrays = {},
                                                .streams = {},
                                                .compiled = {}});
  std::vector<CompiledMember> compiled;
  for (const std::uint32_t m : members) {
    const Instruction& member = role_.instructions[m];
    for (const Range range : {member.inputs, member.outputs})
      for (const BufferId b : role_.operands_of(range)) {
        const Buffer& buffer = role_.buffers[b];
        const bool slot = buffer.space == Buffer::Space::tile;
        work.arrays.push_back({array(b), addresses_[b], slot ? buffer.offset : TileArray::kInMemory,
                               slot ? elements / elements_of(buffer) : 1});
      }
    work.members.push_back(tile_member(member, context, instruction.tile_elements()));
    work.members.back().row = elements / elements_of(role_.buffers[role_.outputs(member)[0]]);
    compiled.push_back({is_own(kernel_of(member, context)) ? plan_.string(member.op) : "", member.inputs.count});
  }
  work.finish();
  if (context.run.compile_after >= 0)
    work.compiled =
        CompiledTiles::of(compiled, work.arrays, elements, context.kernels.level(), context.run.compile_after);
  resolved.tiles = &work;
}

void ResolvedPlan::fuse_on_devices(const ResolveContext& context) {
  struct OfDevice {
    std::vector<const Instruction*> tiles;
    std::vector<FusedKernels> kernels;
  };
  std::map<std::uint32_t, OfDevice> devices;
  for (const Instruction& instruction : role_.instructions) {
    if (instruction.what != Opcode::tiles || !role_.on_queue(instruction)) continue;
    OfDevice& all = devices[role_.devices[role_.queues[instruction.strand - role_.threads].device].index];
    all.tiles.push_back(&instruction);
    all.kernels.push_back(fused_kernels(plan_, role_, instruction, *context.device_kernels));
  }
  for (auto& [device, all] : devices) {
    auto made = context.devices->fuse(static_cast<int>(device), all.kernels, context.parallel.threads());
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (all.tiles[i]->tile_elements() == 0)
        device_epilogues_[all.tiles[i]->region()] = {std::move(all.kernels[i]), std::move(made[i]), {}};
      else
        device_regions_[all.tiles[i]->region()] = std::move(made[i]);
    }
  }
}

void ResolvedPlan::resolve_device_region(Resolved& resolved, const Instruction& instruction,
                                         const ResolveContext& context, std::uint32_t depth) {
  const std::size_t first = arrays_.size();
  for (const Range range : {instruction.inputs, instruction.outputs})
    for (const BufferId b : role_.operands_of(range)) arrays_.push_back(array(b));
  const std::span<Array> all = std::span(arrays_.data() + first, arrays_.size() - first);
  const BoundKernel& kernel = device_regions_.at(instruction.region());
  runs_.push_back(KernelRun{.inputs = all.first(instruction.inputs.count),
                            .outputs = all.subspan(instruction.inputs.count),
                            .state = kernel.state.get(),
                            .scratch = {},
                            .parallel = context.parallel,
                            .step = numbers_[0],
                            .iterations = {iterations(), depth}});
  resolved.run = &runs_.back();
  resolved.kernel = kernel.run;
}

TileMember ResolvedPlan::fused_member(const Instruction& member, const ResolveContext& context, std::string_view how,
                                      const std::function<bool(const Kernel& kernel, const KernelSetup& setup)>& runs) {
  const Kernel& kernel = kernel_of(member, context);
  std::vector<Type> types;
  for (const Range range : {member.inputs, member.outputs})
    for (const BufferId b : role_.operands_of(range)) types.push_back(type(b));
  const std::span<const Type> all(types);
  const KernelSetup setup{.name = plan_.string(member.name),
                          .attrs = attrs_of(member),
                          .inputs = all.first(member.inputs.count),
                          .outputs = all.subspan(member.inputs.count),
                          .data_folder = {}};
  if (!runs(kernel, setup))
    throw Error(Code::plan, "the kernel of " + std::string(kernel.op) + " does not run " + std::string(how))
        .at(plan_.line(member.line));
  const auto [code, state] = bound(kernel, setup, member, context);
  return {code, state, member.inputs.count, &member};
}

TileMember ResolvedPlan::tile_member(const Instruction& member, const ResolveContext& context, std::uint32_t tile) {
  const bool joins = member.inputs.count > 0 && elements_of(role_.buffers[role_.inputs(member)[0]]) >
                                                    elements_of(role_.buffers[role_.outputs(member)[0]]);
  return fused_member(member, context, "tile by tile", [&](const Kernel& kernel, const KernelSetup& setup) {
    const bool elementwise = kernel.elementwise && scratch_of(kernel, setup) == 0;
    const std::int64_t row = elementwise ? 1 : row_of(kernel, setup);
    return row > 0 && tile % row == 0 && (elementwise ? !joins : tile > 0);
  });
}

void ResolvedPlan::resolve_stencil(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                                   std::uint32_t depth) {
  const auto [begun, fresh] = stencils_.try_emplace({instruction.region(), swapped_}, nullptr);
  if (fresh)
    begun->second = std::make_unique<StencilWork>(parts_of_stencil(instruction, context, depth), context.parallel,
                                                  numbers_[0], std::span(iterations(), depth));
  if (instruction.what == Opcode::stencil_begin) begun->second->begin_early();
  resolved.stencil = begun->second.get();
}

StencilParts ResolvedPlan::parts_of_stencil(const Instruction& instruction, const ResolveContext& context,
                                            std::uint32_t depth) {
  StencilParts parts{.tile = instruction.tile_elements(),
                     .chain = context.kernels.chain(),
                     .processor = context.kernels.level(),
                     .compile_after = context.run.compile_after};
  const Range members = role_.regions[instruction.region()].instructions;
  const std::int64_t elements = elements_of(role_.buffers[role_.outputs(role_.instructions[members.first])[0]]);
  std::map<std::uint32_t, std::uint32_t> known;  // by buffer: its index in parts.arrays
  const auto index_of = [&](std::uint32_t b, StencilArray::Storage is) {
    const auto [at, fresh] = known.try_emplace(b, static_cast<std::uint32_t>(parts.arrays.size()));
    const Buffer& buffer = role_.buffers[b];
    if (fresh)
      parts.arrays.push_back({is, array(b), buffer.space == Buffer::Space::tile ? buffer.offset : 0,
                              static_cast<std::int64_t>(size_of(buffer.dtype))});
    return at->second;
  };
  const auto kind_of = [&](std::uint32_t b) {
    if (elements_of(role_.buffers[b]) != elements) return StencilArray::Storage::one;
    return role_.buffers[b].space == Buffer::Space::tile ? StencilArray::Storage::slot : StencilArray::Storage::whole;
  };
  for (const std::uint32_t m : members) {
    const Instruction& member = role_.instructions[m];
    const std::uint32_t out = role_.outputs(member)[0];
    const Kernel& kernel = kernel_of(member, context);
    if (kernel.shifting.shifts == nullptr) {
      StencilKernel& added =
          parts.kernels.emplace_back(StencilKernel{tile_member(member, context, instruction.tile_elements())});
      for (const BufferId b : role_.inputs(member)) added.inputs.push_back(index_of(b, kind_of(b)));
      added.made = index_of(out, kind_of(out));
      added.chained = chain_op(kernel.op, role_.buffers[out].dtype);
      if (is_own(kernel)) added.op = kernel.op;
      continue;
    }
    StencilWindow& added = parts.windows.emplace_back();
    for (const BufferId b : role_.inputs(member)) added.inputs.push_back(array(b));
    added.made = index_of(out, StencilArray::Storage::window);
    added.shifts = kernel.shifting.shifts({.inputs = added.inputs,
                                           .outputs = {&parts.arrays[added.made].array, 1},
                                           .state = window_member(member, context).state,
                                           .scratch = {},
                                           .parallel = context.parallel,
                                           .step = numbers_[0],
                                           .iterations = {iterations(), depth}});
  }
  if (parts.kernels.empty())
    throw Error(Code::plan, "a stencil without a kernel on its windows").at(plan_.line(instruction.line));
  return parts;
}

TileMember ResolvedPlan::window_member(const Instruction& member, const ResolveContext& context) {
  return fused_member(
      member, context, "in stencils with these steps",
      [](const Kernel& kernel, const KernelSetup& setup) { return kernel.shifting.in_runs(setup.attrs); });
}

DeviceEpilogue& ResolvedPlan::device_epilogue(const Instruction& instruction) {
  DeviceEpilogue& epilogue = device_epilogues_.at(instruction.region());
  const RegionOperands operands = region_operands(role_, instruction);
  for (const auto* buffers : {&operands.inputs, &operands.outputs})
    for (const std::uint32_t b : *buffers) epilogue.arrays.push_back(array(b));
  return epilogue;
}

void ResolvedPlan::resolve_epilogue(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                                    std::uint32_t depth) {
  const Range region = role_.regions[instruction.region()].instructions;
  const Instruction& head = role_.instructions[region.first];
  if (!kernel_of(head, context).finishes)
    throw Error(Code::plan,
                "the kernel of " + std::string(plan_.string(head.op)) + " does not yield its output in pieces")
        .at(plan_.line(head.line));
  resolve_kernel(resolved, head, context, depth);
  if (role_.on_queue(instruction)) {
    resolved.run->epilogue = &device_epilogue(instruction);
    return;
  }
  std::vector<TileMember> members;
  std::vector<Array> arrays;
  for (std::uint32_t m = region[1]; m < region.first + region.count; ++m) {
    const Instruction& member = role_.instructions[m];
    for (const Range range : {member.inputs, member.outputs})
      for (const BufferId b : role_.operands_of(range)) arrays.push_back(array(b));
    members.push_back(tile_member(member, context, 0));
  }
  const std::span<const std::int64_t> numbers(iterations(), depth);
  resolved.epilogue =
      &epilogues_.emplace_back(head, std::move(members), std::move(arrays), context.parallel, numbers_[0], numbers);
  resolved.run->finish = resolved.epilogue;
}

}  // namespace ferry

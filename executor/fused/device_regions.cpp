#include "executor/fused/device_regions.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace ferry {
namespace {

/// The instructions for which a kernel is generated.
Range generated_for(const PlanClass& role, const Instruction& tiles) {
  const Range body = role.regions[tiles.region()].instructions;
  return tiles.tile_elements() == 0 ? Range{body[1], body.count - 1} : body;
}

class RegionReader {
 public:
  RegionReader(const Plan& plan, const PlanClass& role, const Instruction& tiles, const KernelTable& kernels)
      : plan_(plan), role_(role), kernels_(kernels), body_(generated_for(role, tiles)) {
    const RegionOperands operands = region_operands(role, tiles);
    for (const std::uint32_t b : operands.inputs) value_of_[add(b)] = made_.inputs++;
    for (const std::uint32_t b : operands.outputs) output_of_[add(b)] = made_.inputs + made_.outputs++;
  }

  FusedKernels read() {
    for (std::uint32_t m = 0; m < body_.count; ++m) {
      const Instruction& member = role_.instructions[body_[m]];
      FusedKernels::Member added{&kernel_of(member), {}, 0};
      for (const BufferId b : role_.inputs(member)) {
        const auto made = value_of_.find(whole(b));
        added.inputs.push_back(made != value_of_.end() && made->second >= made_.inputs ? made->second
                                                                                       : value_of_.at(b));
      }
      added.output = output(member, m);
      made_.members.push_back(std::move(added));
    }
    return std::move(made_);
  }

 private:
  /// If `b` is a reshaped view, returns the buffer that it shows; else `b`.
  [[nodiscard]] std::uint32_t whole(std::uint32_t b) const {
    const std::uint32_t of = storage_of(role_, b);
    return role_.buffers[of].bytes == role_.buffers[b].bytes ? of : b;
  }
  [[nodiscard]] Type type(std::uint32_t b) const {
    return {role_.buffers[b].dtype, Shape{std::span<const std::int64_t>(role_.buffers[b].sizes)}};
  }
  std::uint32_t add(std::uint32_t b) {
    made_.values.push_back(type(b));
    return b;
  }

  /// Adds the output of `member`, number m of the region, as a value, and returns the value. It is an output of the
  /// region if its buffer is one and no later member writes there.
  std::uint32_t output(const Instruction& member, std::uint32_t m) {
    const std::uint32_t b = role_.outputs(member)[0], to = whole(b);
    bool last = output_of_.contains(to);
    for (std::uint32_t later = m + 1; later < body_.count; ++later)
      last = last && whole(role_.outputs(role_.instructions[body_[later]])[0]) != to;
    if (!last) made_.values.push_back(type(b));
    const std::uint32_t value = last ? output_of_.at(to) : static_cast<std::uint32_t>(made_.values.size() - 1);
    made_.values[value] = type(b);
    return value_of_[to] = value;
  }

  [[nodiscard]] const Kernel& kernel_of(const Instruction& member) const {
    const std::string op(plan_.string(member.op));
    const Kernel* const kernel = kernels_.find(op);
    std::vector<Type> inputs, outputs;
    for (const BufferId b : role_.inputs(member)) inputs.push_back(type(b));
    for (const BufferId b : role_.outputs(member)) outputs.push_back(type(b));
    static const Attrs kNoAttrs;
    const KernelSetup setup{.name = plan_.string(member.name),
                            .attrs = member.attrs == kNone ? kNoAttrs : plan_.attrs[member.attrs],
                            .inputs = inputs,
                            .outputs = outputs,
                            .data_folder = {}};
    if (kernel == nullptr || !is_scalar(*kernel, setup))
      throw Error(Code::plan, "the kernel of " + op + " for GPUs does not run in tile regions")
          .at(plan_.line(member.line));
    return *kernel;
  }

  const Plan& plan_;
  const PlanClass& role_;
  const KernelTable& kernels_;
  const Range body_;
  FusedKernels made_;
  std::map<std::uint32_t, std::uint32_t> value_of_, output_of_;  // by buffer
};

}  // namespace

RegionOperands region_operands(const PlanClass& role, const Instruction& tiles) {
  const auto listed = [&](Range range) {
    const auto begin = role.operands.begin() + range.first;
    return std::vector<std::uint32_t>(begin, begin + range.count);
  };
  RegionOperands all{listed(tiles.inputs), listed(tiles.outputs)};
  if (tiles.tile_elements() != 0) return all;
  all.inputs.clear();
  const Range body = generated_for(role, tiles);
  for (const std::uint32_t m : body)
    for (const std::uint32_t b : listed(role.instructions[m].inputs))
      if (b != all.outputs[0] && std::ranges::find(all.inputs, b) == all.inputs.end()) all.inputs.push_back(b);
  all.inputs.push_back(all.outputs[0]);
  return all;
}

FusedKernels fused_kernels(const Plan& plan, const PlanClass& role, const Instruction& tiles,
                           const KernelTable& kernels) {
  return RegionReader(plan, role, tiles, kernels).read();
}

}  // namespace ferry

// ClassKernels: makes the kernel instructions of one plan class.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "placement/class/class_plan.hpp"
#include "placement/lower/class_buffers.hpp"
#include "placement/lower/lowering.hpp"

namespace ferry {

/// Makes the kernel instructions of a class's compute nodes and adds them to `plan`, with the facts about their kernels
/// that later passes need (ClassPlan::facts). Not thread-safe; the constructor's arguments must outlive it.
class ClassKernels {
 public:
  using Buffers = std::vector<BufferId>;

  ClassKernels(Lowering& shared, ClassPlan& plan, ClassBuffers& buffers)
      : shared_(shared),
        program_(shared.program),
        tables_(shared.tables),
        plan_(plan),
        role_(plan.role),
        buffers_(buffers) {
    plan.facts.fuse_from = program_.options.fuse_from;
  }

  /// Adds the kernel of `node` to the current region, and defines its outputs. `node` must not be a view. `instruction`
  /// has the node's name and line; `in` are the buffers of its inputs.
  void add(const Node& node, Instruction instruction, const Buffers& in);
  /// Kernels may read the buffer in a packed form that the setup makes, as if the setup made the buffer.
  void add_kept(BufferId buffer);

 private:
  /// The facts that all kernels of an op on a kind of device share.
  struct Facts {
    const OpDef* def = nullptr;
    DeviceKind kind = DeviceKind::cpu;
    std::uint32_t op = kNone;
    const Kernel* kernel = nullptr;
  };
  Facts facts_of(const OpDef& def, DeviceKind kind);
  [[nodiscard]] bool is_free(const Node& node) const;
  /// Whether the node's kernel may become part of a fused region.
  [[nodiscard]] bool is_fusable(const Node& node);
  void store_row_length(const Node& node);
  void push_on_host(const Instruction& instruction);
  /// The setup of the node's kernel: attributes, and the types and parts of in_ and out_.
  [[nodiscard]] KernelSetup setup_of(const Node& node);
  [[nodiscard]] bool takes_all(const Buffers& buffers) const;
  [[nodiscard]] std::vector<Type> types_of(const Buffers& buffers) const;
  [[nodiscard]] bool join_in_place(const Node& node);
  void add_packed(const Instruction& user, const Node& node);

  const Lowering& shared_;
  const Program& program_;
  PlanTables& tables_;
  ClassPlan& plan_;
  PlanClass& role_;
  ClassBuffers& buffers_;
  Facts facts_;       // facts of the last kernel
  Buffers in_, out_;  // buffers of the kernel that is being added
  std::vector<Type> in_types_, out_types_;
  std::vector<std::vector<std::int64_t>> wholes_;  // sizes of the whole values of in_ and out_
  std::vector<PlacedPart> parts_;
  std::vector<std::uint32_t> made_in_;  // for each buffer: the region of the kernel that makes it, or kNone
};

}  // namespace ferry

// ClassKernels: the kernels of one plan class.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "placement/lower/class_buffers.hpp"
#include "placement/lower/lower.hpp"

namespace ferry {

/// Makes instructions of a class's compute nodes and adds them to `plan`, with what passes need to know of them. Not
/// thread-safe; what is given must outlive it.
class ClassKernels {
 public:
  using Buffers = std::vector<std::uint32_t>;

  ClassKernels(Lowering& shared, ClassPlan& plan, ClassBuffers& buffers)
      : shared_(shared),
        program_(shared.program),
        tables_(shared.tables),
        plan_(plan),
        role_(plan.role),
        buffers_(buffers) {
    plan.facts.fuse_from = program_.options.fuse_from;
  }

  /// Adds the kernel of `node`, no view, to the current region: `instruction` has its name and line, `in` are the
  /// buffers of its inputs. Defines its outputs.
  void add(const Node& node, Instruction instruction, const Buffers& in);

 private:
  /// What is the same for all kernels of an op on a kind of device.
  struct Facts {
    const OpDef* def = nullptr;
    DeviceKind kind = DeviceKind::cpu;
    std::uint32_t op = kNone;
    const Kernel* kernel = nullptr;
  };
  Facts facts_of(const OpDef& def, DeviceKind kind);
  [[nodiscard]] bool is_free(const Node& node) const;
  void note_row(const Node& node);
  void push_on_host(const Instruction& instruction);
  /// What the kernel would know of the node at hand.
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
  Facts facts_;       // of the last kernel
  Buffers in_, out_;  // of the kernel at hand
  std::vector<Type> in_types_, out_types_;
  std::vector<std::uint32_t> made_in_;  // of each buffer that a kernel makes: the region
};

}  // namespace ferry

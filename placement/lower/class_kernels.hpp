// ClassKernels: the kernels of one plan class.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "placement/class/fuse_elements.hpp"
#include "placement/class/region_lists.hpp"
#include "placement/lower/class_buffers.hpp"
#include "placement/messages/messages.hpp"
#include "placement/plan/plan_tables.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// What the classes of a plan share while they are made.
struct Lowering {
  const Program& program;
  const Plan& plan;
  PlanTables& tables;
  const MessageNumbers messages;
  const std::vector<bool> ordered;  ///< of the graph's ops: the user wants others to run after it
};

/// Makes instructions of a class's compute nodes and adds them to `lists`. Not thread-safe; what is given must outlive
/// it.
class ClassKernels {
 public:
  using Buffers = std::vector<std::uint32_t>;

  ClassKernels(const Lowering& shared, PlanClass& plan, ClassBuffers& buffers, RegionLists& lists)
      : shared_(shared),
        program_(shared.program),
        tables_(shared.tables),
        plan_(plan),
        buffers_(buffers),
        lists_(lists),
        fusable_{{}, {}, program_.options.fuse_from} {}

  /// Adds the kernel of `node`, no view, to the current region: `instruction` has its name and line, `in` are the
  /// buffers of its inputs. Defines its outputs.
  void add(const Node& node, Instruction instruction, const Buffers& in);

  /// To be called when all nodes are there: packs what is packed, fuses what may be, and leaves on any thread
  /// (kAnyThread) only what place_strands may move.
  void finish();

  /// Nanoseconds for each output element, by op.
  [[nodiscard]] const std::unordered_map<std::uint32_t, double>& work() const { return work_; }

 private:
  /// What is the same for all kernels of an op on a kind of device.
  struct Facts {
    const OpDef* def = nullptr;
    DeviceKind kind = DeviceKind::cpu;
    std::uint32_t op = kNone;
    std::uint32_t in_place = 0;
    bool scratch = false, elementwise = false, by_rows = false, finishes = false, packs = false;
    DTypeSet takes = kAnyType;
  };
  Facts facts_of(const OpDef& def, DeviceKind kind);
  [[nodiscard]] bool is_free(const Node& node) const;
  [[nodiscard]] bool spreads(std::uint32_t region) const { return region == 1 && plan_.threads > 1; }
  void note_row(const Node& node, DeviceKind kind);
  [[nodiscard]] bool takes_all(const Buffers& buffers) const;
  [[nodiscard]] std::vector<Type> types_of(const Buffers& buffers) const;
  [[nodiscard]] bool join_in_place(const Node& node);
  void add_packed(const Instruction& user, const Node& node);
  void place_packing();

  const Lowering& shared_;
  const Program& program_;
  PlanTables& tables_;
  PlanClass& plan_;
  ClassBuffers& buffers_;
  RegionLists& lists_;
  Facts facts_;       // of the last kernel
  Buffers in_, out_;  // of the kernel at hand
  Fusable fusable_;
  std::unordered_set<std::uint32_t> heads_;         // ops whose kernels finish their output piece by piece
  std::unordered_map<std::uint32_t, double> work_;  // of work()
  std::vector<std::uint32_t> made_in_;              // of each buffer that a kernel makes: the region
  std::unordered_map<std::uint32_t, std::vector<Instruction>> packing_;  // by the buffer of the setup that is packed
};

}  // namespace ferry

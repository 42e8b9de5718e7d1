// Queues: submits the work that a plan gives to a task's devices besides the host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "executor/observe/queue_times.hpp"
#include "executor/run/gpu_groups.hpp"
#include "executor/run/number_checks.hpp"
#include "executor/run/resolved.hpp"
#include "executor/run/waiting.hpp"
#include "kernels/device.hpp"
#include "plan/device_work.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The queues of a task's plan and the events between them. Used by walker 0 alone, which submits their work in the
/// order of its list. The devices and groups must outlive it.
class Queues {
 public:
  /// Precondition: `resolved` has instructions of queues (queued()). `one_by_one`: each work item is done before the
  /// next is submitted, so that a late report of a failure belongs to the current instruction. `kernels`: the devices'
  /// kernels. `groups`: the groups of the plan's collectives; null if it has none on GPUs. `trace`: gets the events of
  /// the devices; null: nothing is traced.
  Queues(const ResolvedPlan& resolved, const Devices& devices, const KernelTable& kernels, GpuGroups* groups,
         bool one_by_one, Trace* trace);

  /// Call it when a setup or step begins; `first` is its first instruction.
  void begins(const Resolved& first, Waiting& waiting) {
    if (times_) times_->begin([&](void* event) { wait(event, first, waiting); });
  }
  /// untraced(): the number of submitted work items that are not yet in the trace. add_to_trace(): adds all of these
  /// after the first `count` to the trace; they are done, because `r`, a region's join, has waited for them.
  [[nodiscard]] std::size_t untraced() const { return times_ ? times_->given() : 0; }
  void add_to_trace(std::size_t count, const Resolved& r, std::uint64_t plan_id, Waiting& waiting) {
    if (times_) times_->add_from(count, resolved_.plan(), plan_id, [&](void* event) { wait(event, r, waiting); });
  }

  /// The work submitted to the queues since clear_given(), by index into PlanClass::devices.
  [[nodiscard]] std::span<const DeviceWork> given() const { return given_; }
  void clear_given() { given_.assign(given_.size(), {}); }

  /// Call it before the host runs `r`. Waits for the events that must come before `r`, and informs devices that ask for
  /// it which memory `r` touches.
  void before(const Resolved& r, Waiting& waiting);
  /// Call it before the host reads a loop's condition.
  void reads(const Resolved& loop) const;
  /// Submits an instruction to its queue.
  void give(const Resolved& r, Traffic& moved, Waiting& waiting);
  /// Like give(), and checks a kernel's inputs and outputs for NaN and Inf. The host waits until both have been copied
  /// to it.
  void give_checked(const Resolved& r, Traffic& moved, Waiting& waiting, NumberChecks& checks);
  /// Submits the captured stretch (PlanClass::stretches) that begins with the first of `list`, and returns its number
  /// of instructions. Returns 0 if no stretch begins there, or if its instructions must be submitted one by one: the
  /// first time, when kernels create their state, and always if each instruction is waited for.
  [[nodiscard]] std::size_t give_captured(std::span<const Resolved> list, Traffic& moved);
  /// Call it when the job has failed: ends the collectives in flight, so that the queues can be destroyed.
  void abandon() const {
    if (groups_ != nullptr) groups_->abandon();
  }
  /// Call it before the host sets a number that kernels read besides their operands: the number of the step or of an
  /// iteration.
  void before_number_write(const std::int64_t& number) const;

 private:
  struct WorkItem {
    void* queue = nullptr;          ///< null: the host runs it
    PlanQueue queue_info = {};      ///< the description of `queue`
    void* happened = nullptr;       ///< the event that marks its end; null: nobody waits for it
    std::vector<void*> after;       ///< the events to wait for before it
    std::uint32_t stretch = kNone;  ///< the captured stretch that begins with it
    std::unique_ptr<GpuCollective> collective;
  };
  struct Stretch {
    std::uint32_t instructions = 0;
    bool has_run = false;
    DeviceWork work;
    Devices::Owned graph;
  };
  [[nodiscard]] WorkItem& item_of(const Resolved& r) { return works_[r.plan - first_]; }
  void find_works(const KernelTable& kernels);
  void find_stretches();
  [[nodiscard]] std::unique_ptr<GpuCollective> collective_of(const Instruction& instruction,
                                                             const KernelTable& kernels) const;
  /// Submits the instruction's work without waits and events. Returns the work.
  DeviceWork submit_work(const Resolved& r, const WorkItem& work);
  DeviceWork submit_collective(const Resolved& r, const WorkItem& work, Traffic& moved, Waiting& waiting);
  void count(const PlanQueue& queue, const DeviceWork& given, Traffic& moved) {
    given_[queue.device] += given;
    moved.copies += given.copies_in + given.copies_out + given.copies_within;
  }
  /// Like give(), without the waits.
  void submit(const Resolved& r, const WorkItem& work, Traffic& moved, Waiting& waiting);
  void touch(const Resolved& r) const;
  void wait(void* event, const Resolved& r, Waiting& waiting);
  void wait_for_queue(void* queue, const Resolved& r, Waiting& waiting);
  /// Copies the arrays to the host's memory.
  [[nodiscard]] std::vector<Array> on_host(std::span<const Array> arrays, void* queue, const Resolved& r,
                                           Waiting& waiting);

  const ResolvedPlan& resolved_;
  const PlanClass& role_;
  const Devices& devices_;
  GpuGroups* const groups_;
  const bool one_by_one_;
  const Instruction* const first_;
  std::vector<DeviceWork> given_;
  // Destroyed after the queues, since the queues' work may touch this memory.
  std::vector<std::vector<std::byte>> host_copies_;
  std::vector<Stretch> stretches_;
  std::vector<Devices::Owned> used_, host_memory_, queues_, events_;
  Devices::Owned caught_up_;  ///< recorded by wait_for_queue()
  std::optional<QueueTimes> times_;
  std::vector<WorkItem> works_;  ///< by index of the instruction in the plan class
};

}  // namespace ferry

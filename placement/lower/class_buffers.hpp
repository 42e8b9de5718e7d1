// ClassBuffers: the buffers of one plan class, and which of them holds which value of the program.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "placement/plan/plan_tables.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Adds the buffers that one task's class needs to `plan`, each of the size that the task holds. Memory is not placed
/// here (class/plan_memory.hpp). Not thread-safe; what it is made from must outlive it.
class ClassBuffers {
 public:
  /// `wheres`: the device sets that the task is in.
  ClassBuffers(const Program& program, PlanTables& tables, std::int32_t task, std::span<const WhereId> wheres,
               PlanClass& plan);

  /// The task is in that device set.
  [[nodiscard]] bool on(WhereId where) const { return on_where_[where]; }
  /// The task has the value, or a part of it.
  [[nodiscard]] bool holds(PValueId value) const;
  /// The number of the value's buffer; there must be one.
  [[nodiscard]] std::uint32_t of(PValueId value) const;
  /// The value has a buffer already.
  [[nodiscard]] bool known(PValueId value) const { return buffer_of_[value] != kNone; }

  /// A new buffer for the value, where it is placed: on the host if it is bounded.
  std::uint32_t define(PValueId value);
  /// A new buffer for the value, in the host's memory unless it is a part of a joined one.
  std::uint32_t define_on_host(PValueId value);
  /// Buffers of these values, of one dtype and device set, will be parts of one, side by side in this order. They are
  /// not defined yet. Nothing to do when they have been joined before, then in the same order.
  void join(std::span<const PValueId> values, std::uint32_t name);
  /// From now on the value is in `buffer`.
  void alias(PValueId value, std::uint32_t buffer) { buffer_of_[value] = buffer; }
  /// The value has the bytes of `of` under its own shape.
  std::uint32_t view(PValueId value, std::uint32_t of);
  /// It is no view, and all views of it have all of its bytes, as the same dtype.
  [[nodiscard]] bool may_be_part(std::uint32_t buffer) const;
  /// From now on the bytes of `part`, which may be one, and of its views are those of `whole` from `offset` on.
  void place_in(std::uint32_t part, std::uint32_t whole, std::uint64_t offset);
  /// A buffer like `other`, with bytes of its own in the step.
  std::uint32_t copy_of(std::uint32_t other);
  /// The same, in the host's memory; `other` itself if it lies there.
  std::uint32_t on_host(std::uint32_t other);
  /// `elements` of the dtype and on the device of `other`.
  std::uint32_t like(std::uint32_t other, std::int64_t elements);
  /// What stands for an input of which only the whole value's sizes are used.
  std::uint32_t sizes_only(PValueId value, WhereId where);
  std::uint32_t scratch_on_host(std::int64_t bytes);
  /// On the device of the buffer `of`.
  std::uint32_t scratch_with(std::uint32_t of, std::int64_t bytes);

  /// The type of what a buffer holds, as kernels see it.
  [[nodiscard]] Type type_of(std::uint32_t buffer) const;
  [[nodiscard]] std::uint32_t name_of(PValueId value);

 private:
  struct LocalSizes {
    Sizes sizes;
    std::int64_t count = 0;
  };

  /// A buffer to be: that of joined values.
  struct Joined {
    Buffer whole;
    std::uint32_t id = kNone;  ///< once one of its parts is defined
  };
  struct Place {
    std::size_t joined = 0;
    std::uint64_t offset = 0;  ///< in bytes
  };

  void place_in_joined(PValueId value, Buffer& buffer);
  std::uint32_t add(Buffer buffer);
  LocalSizes local(const PValue& value);
  std::uint32_t define(PValueId value, std::uint32_t device);
  std::uint32_t scratch(std::uint32_t device, std::int64_t bytes);
  std::uint32_t device(WhereId where);
  std::uint32_t device(DeviceKind kind, std::uint32_t index);
  std::uint32_t grouping(std::uint32_t id);
  std::uint32_t window(const PValue& value);

  const Program& program_;
  PlanTables& tables_;
  std::int32_t task_;
  PlanClass& plan_;
  std::vector<std::uint32_t> buffer_of_;                          // of each value; kNone: none
  std::vector<bool> on_where_;                                    // of each device set: this task is in it
  std::vector<std::uint32_t> device_of_;                          // of each device set
  std::unordered_map<std::uint32_t, std::uint32_t> grouping_of_;  // of the program's groupings
  std::unordered_map<const Dim*, LocalSizes> sizes_of_;           // of whole values, by the dims that shapes share
  std::vector<Joined> joined_;
  std::unordered_map<PValueId, Place> place_of_;  // of joined values
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      views_;  // of buffers that are not views themselves, by view() and place_in()
};

}  // namespace ferry

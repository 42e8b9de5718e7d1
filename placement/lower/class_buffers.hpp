// ClassBuffers: the buffers of one plan class, and the values of the program that they hold.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "placement/program/program.hpp"
#include "plan/plan_tables.hpp"

namespace ferry {

/// Adds the buffers that one task's class needs to `plan`, with the sizes of the task's parts. Offsets are set later
/// (class/plan_memory.hpp). Not thread-safe. The arguments of its constructor must outlive it.
class ClassBuffers {
 public:
  /// `wheres`: the device sets that the task is in.
  ClassBuffers(const Program& program, PlanTables& tables, std::int32_t task, std::span<const WhereId> wheres,
               PlanClass& plan);

  /// Whether the task is in the device set.
  [[nodiscard]] bool is_task_in(WhereId where) const { return on_where_[where]; }
  /// Whether the task has the value, or a part of it.
  [[nodiscard]] bool holds(PValueId value) const;
  /// The number of the value's buffer; there must be one.
  [[nodiscard]] BufferId of(PValueId value) const;
  /// Whether the value has a buffer already.
  [[nodiscard]] bool known(PValueId value) const { return buffer_of_[value] != kNone; }

  /// Adds a buffer for the value on the value's device, or on the host if the value is bounded.
  BufferId define(PValueId value);
  /// Adds a buffer for the value in the host's memory, unless it is a part of a joined buffer.
  BufferId define_on_host(PValueId value);
  /// Makes the future buffers of these values parts of one buffer, side by side in this order. The values have the same
  /// dtype and device set, and no buffers yet. Does nothing if they are already joined; they must be in the same order
  /// then.
  void join(std::span<const PValueId> values, std::uint32_t name);
  /// Makes `buffer` the value's buffer.
  void alias(PValueId value, BufferId buffer) { buffer_of_[value] = buffer; }
  /// Adds a buffer for the value that has the bytes of `of` under the value's own shape.
  BufferId view(PValueId value, BufferId of);
  /// Whether place_in() can make the buffer a part: it is not a view, not bounded, not empty, and all its views have
  /// all of its bytes and its dtype.
  [[nodiscard]] bool may_be_part(BufferId buffer) const;
  /// Makes `part` (see may_be_part()) and its views a part of `whole`, from byte `offset` on.
  void place_in(BufferId part, BufferId whole, std::uint64_t offset);
  /// Cuts the buffer into vectors with the given numbers of elements, side by side. They are made once. Null if the
  /// buffer is a part of another buffer, or has other parts.
  [[nodiscard]] const std::vector<BufferId>* cut_into_chunks(BufferId buffer,
                                                             const std::vector<std::int64_t>& elements);
  /// Adds a buffer like `other`, with its own bytes in the step's arena.
  BufferId add_copy_of(BufferId other);
  /// The same in the host's memory; returns `other` itself if it is already there.
  BufferId on_host(BufferId other);
  /// Adds a vector of `elements` elements, with the dtype and on the device of `other`.
  BufferId add_vector_like(BufferId other, std::int64_t elements);
  /// Adds a buffer without bytes, for an input that is used only for the sizes of the whole value.
  BufferId sizes_only(PValueId value, WhereId where);
  BufferId scratch_on_host(std::int64_t bytes);
  BufferId scratch_on_gpu(std::uint32_t index, std::int64_t bytes);
  /// Adds scratch on the device of the buffer `of`.
  BufferId scratch_with(BufferId of, std::int64_t bytes);

  /// The type that kernels see in a buffer: the type of the task's part; a bounded dim 0 has its bound.
  [[nodiscard]] Type type_of(BufferId buffer) const;
  [[nodiscard]] std::uint32_t name_of(PValueId value);

 private:
  struct LocalSizes {
    Sizes sizes;
    std::int64_t count = 0;
  };

  /// The common buffer of joined values.
  struct Joined {
    Buffer whole;
    std::uint32_t id = kNone;  ///< set when the first of its parts is defined
  };
  struct Place {
    std::size_t joined = 0;
    std::uint64_t offset = 0;  ///< in bytes
  };

  struct Chunks {
    std::vector<std::int64_t> elements;
    std::vector<BufferId> buffers;
  };

  void place_in_joined(PValueId value, Buffer& buffer);
  BufferId add(Buffer buffer);
  LocalSizes local(const PValue& value);
  BufferId define(PValueId value, std::uint32_t device);
  BufferId scratch(std::uint32_t device, std::int64_t bytes);
  std::uint32_t device(WhereId where);
  std::uint32_t device(DeviceKind kind, std::uint32_t index);
  std::uint32_t grouping(std::uint32_t id);
  std::uint32_t window(const PValue& value);

  const Program& program_;
  PlanTables& tables_;
  std::int32_t task_;
  PlanClass& plan_;
  std::vector<BufferId> buffer_of_;                               // of each value; kNone: none
  std::vector<bool> on_where_;                                    // by device set: whether this task is in it
  std::vector<std::uint32_t> device_of_;                          // of each device set
  std::unordered_map<std::uint32_t, std::uint32_t> grouping_of_;  // by grouping of the program: its number in the plan
  std::unordered_map<const Dim*, LocalSizes> sizes_of_;           // of whole values, by address of their shape's dims
  std::vector<Joined> joined_;
  std::unordered_map<PValueId, Place> place_of_;               // of joined values
  std::unordered_map<BufferId, std::vector<BufferId>> views_;  // by buffer that is not a view: its views
  std::unordered_map<BufferId, Chunks> chunks_;                // by buffer that is not a view: its chunks
};

}  // namespace ferry

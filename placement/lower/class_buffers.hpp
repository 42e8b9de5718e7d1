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
  [[nodiscard]] std::uint32_t of(PValueId value) const;
  /// Whether the value has a buffer already.
  [[nodiscard]] bool known(PValueId value) const { return buffer_of_[value] != kNone; }

  /// Adds a buffer for the value on the value's device, or on the host if the value is bounded.
  std::uint32_t define(PValueId value);
  /// Adds a buffer for the value in the host's memory, unless it is a part of a joined buffer.
  std::uint32_t define_on_host(PValueId value);
  /// Makes the future buffers of these values parts of one buffer, side by side in this order. The values have the same
  /// dtype and device set, and no buffers yet. Does nothing if they are already joined; they must be in the same order
  /// then.
  void join(std::span<const PValueId> values, std::uint32_t name);
  /// Makes `buffer` the value's buffer.
  void alias(PValueId value, std::uint32_t buffer) { buffer_of_[value] = buffer; }
  /// Adds a buffer for the value that has the bytes of `of` under the value's own shape.
  std::uint32_t view(PValueId value, std::uint32_t of);
  /// Whether place_in() can make the buffer a part: it is not a view, not bounded, not empty, and all its views have
  /// all of its bytes and its dtype.
  [[nodiscard]] bool may_be_part(std::uint32_t buffer) const;
  /// Makes `part` (see may_be_part()) and its views a part of `whole`, from byte `offset` on.
  void place_in(std::uint32_t part, std::uint32_t whole, std::uint64_t offset);
  /// Cuts the buffer into vectors with the given numbers of elements, side by side. They are made once. Null if the
  /// buffer is a part of another buffer, or has other parts.
  [[nodiscard]] const std::vector<std::uint32_t>* cut_into_chunks(std::uint32_t buffer,
                                                                  const std::vector<std::int64_t>& elements);
  /// Adds a buffer like `other`, with its own bytes in the step's arena.
  std::uint32_t add_copy_of(std::uint32_t other);
  /// The same in the host's memory; returns `other` itself if it is already there.
  std::uint32_t on_host(std::uint32_t other);
  /// Adds a vector of `elements` elements, with the dtype and on the device of `other`.
  std::uint32_t add_vector_like(std::uint32_t other, std::int64_t elements);
  /// Adds a buffer without bytes, for an input that is used only for the sizes of the whole value.
  std::uint32_t sizes_only(PValueId value, WhereId where);
  std::uint32_t scratch_on_host(std::int64_t bytes);
  std::uint32_t scratch_on_gpu(std::uint32_t index, std::int64_t bytes);
  /// Adds scratch on the device of the buffer `of`.
  std::uint32_t scratch_with(std::uint32_t of, std::int64_t bytes);

  /// The type that kernels see in a buffer: the type of the task's part; a bounded dim 0 has its bound.
  [[nodiscard]] Type type_of(std::uint32_t buffer) const;
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
    std::vector<std::uint32_t> buffers;
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
  std::vector<bool> on_where_;                                    // by device set: whether this task is in it
  std::vector<std::uint32_t> device_of_;                          // of each device set
  std::unordered_map<std::uint32_t, std::uint32_t> grouping_of_;  // by grouping of the program: its number in the plan
  std::unordered_map<const Dim*, LocalSizes> sizes_of_;           // of whole values, by address of their shape's dims
  std::vector<Joined> joined_;
  std::unordered_map<PValueId, Place> place_of_;                         // of joined values
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> views_;  // by buffer that is not a view: its views
  std::unordered_map<std::uint32_t, Chunks> chunks_;                     // by buffer that is not a view: its chunks
};

}  // namespace ferry

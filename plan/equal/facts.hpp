// FactTable: facts about the contents of a task's buffers at the current instruction of the walk.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "plan/equal/terms.hpp"
#include "plan/plan.hpp"

namespace ferry::equal {

/// A pending reduction: the parts on the tasks must still be combined over the groups of this grouping.
struct PendingReduction {
  std::uint32_t grouping = 0;
  Reduce reduce = Reduce::none;
  auto operator<=>(const PendingReduction&) const = default;
};

/// The part of a value that a task holds.
struct Fact {
  TypedTerm value;                          ///< the whole value
  std::uint32_t window = kNone;             ///< index into Plan::windows of the part; kNone: the whole value
  std::int64_t dim = -1;                    ///< -1: elements in order; else blocks, which are parts of this dim
  std::int64_t blocks = 0;                  ///< number of blocks
  std::vector<PendingReduction> owed = {};  ///< pending reductions, sorted
  std::int32_t worker = -1;                 ///< the worker that sent this value to its server for a turn; -1: none
  bool operator==(const Fact&) const = default;
};

using FactId = std::uint32_t;

/// Stores each distinct fact once; equal facts have equal ids.
class FactTable {
 public:
  [[nodiscard]] FactId number(const Fact& fact);
  [[nodiscard]] const Fact& operator[](FactId id) const { return all_[id]; }

 private:
  std::vector<Fact> all_;
  std::unordered_multimap<std::uint64_t, FactId> by_hash_;
};

/// Bytes [begin, end) of a buffer hold bytes of a value with the fact `fact`. The value has `size` bytes; its first
/// byte would be at `from`.
struct HeldPiece {
  std::int64_t begin = 0, end = 0;
  FactId fact = 0;
  std::int64_t from = 0, size = 0;
  [[nodiscard]] bool whole() const { return begin == from && end == from + size; }
  bool operator==(const HeldPiece&) const = default;
};
using Pieces = std::vector<HeldPiece>;

/// The contents of the buffers of one class. A view has the contents of its bytes.
class Memory {
 public:
  explicit Memory(const PlanClass& role)
      : role_(&role), held_(role.buffers.size()), empty_(role.buffers.size(), kNone) {}

  /// The pieces in the buffer, relative to its start.
  [[nodiscard]] Pieces pieces(BufferId buffer) const;
  /// Whether every byte of the buffer has a fact.
  [[nodiscard]] bool is_known(BufferId buffer) const;
  void set(BufferId buffer, const Pieces& pieces);
  void set(BufferId buffer, FactId fact);
  /// Whether both buffers are the same bytes, maybe in other shapes.
  [[nodiscard]] bool same_bytes(std::uint32_t a, std::uint32_t b) const {
    return storage_of(*role_, a) == storage_of(*role_, b) && begin_of(a) == begin_of(b) &&
           role_->buffers[a].bytes == role_->buffers[b].bytes;
  }
  void forget(std::uint32_t storage) { held_[storage].clear(); }

  /// The fact of the value that was written into a buffer without bytes; kNone: nothing was written.
  [[nodiscard]] std::uint32_t empty(BufferId buffer) const { return empty_[shown_by(buffer)]; }
  void set_empty(BufferId buffer, std::uint32_t fact) { empty_[shown_by(buffer)] = fact; }

  [[nodiscard]] const Pieces& held(std::uint32_t storage) const { return held_[storage]; }
  void restore(std::uint32_t storage, Pieces pieces) { held_[storage] = std::move(pieces); }
  [[nodiscard]] std::uint32_t storages() const { return static_cast<std::uint32_t>(held_.size()); }

 private:
  [[nodiscard]] std::int64_t begin_of(BufferId buffer) const {
    return static_cast<std::int64_t>(role_->buffers[buffer].offset - role_->buffers[storage_of(*role_, buffer)].offset);
  }

  /// The buffer without bytes that this buffer shows as a view, or the buffer itself.
  [[nodiscard]] BufferId shown_by(BufferId buffer) const {
    const BufferId storage = storage_of(*role_, buffer);
    return role_->buffers[storage].bytes == 0 ? storage : buffer;
  }

  const PlanClass* role_;
  std::vector<Pieces> held_;          // for each buffer that is not a view; sorted
  std::vector<std::uint32_t> empty_;  // for each buffer without bytes
};

}  // namespace ferry::equal

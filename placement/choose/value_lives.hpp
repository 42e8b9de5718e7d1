// ValueLives: the lifetimes of the values of a program, before messages and fusing are planned.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// A lifetime is a range of points. Points number the nodes in the order of the step. The point of a loop or branch is
/// after its bodies; the end of each body is also a point. Immutable once made.
class ValueLives {
 public:
  struct Life {
    std::uint32_t begin = 0, end = 0;  ///< `end` is after the last reader
  };

  explicit ValueLives(const Program& program);

  [[nodiscard]] const Life& operator[](PValueId value) const { return lives_[value]; }
  /// The range from the first point at which a node reads the value to the end of its life.
  [[nodiscard]] Life reading(PValueId value) const { return {first_reader_[value], lives_[value].end}; }
  /// Whether the value needs no memory of its own: it is a view, fusing may keep it in the cache until its readers read
  /// it, or it is written into a variable's memory.
  [[nodiscard]] bool is_free(PValueId value) const { return free_[value]; }
  /// The point of a node.
  [[nodiscard]] std::uint32_t point(NodeId node) const { return position_[node]; }
  /// The number of points.
  [[nodiscard]] std::uint32_t points() const { return next_; }

 private:
  void number(ProgramRegionId region);
  void find_lives(ProgramRegionId region);
  [[nodiscard]] bool has_no_memory(const Node& node, std::span<const NodeId> readers) const;

  const Program& program_;
  std::vector<std::uint32_t> position_;  // by node
  std::vector<Life> lives_;              // by value
  std::vector<std::uint32_t> first_reader_;
  std::vector<bool> free_;
  std::uint32_t next_ = 0;
};

}  // namespace ferry

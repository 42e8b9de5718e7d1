// Dependences: for each instruction of a list, the earlier instructions that it must come after.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

/// Dependences follow from the buffers that instructions read and write, including nested regions. Parts of one buffer
/// do not depend on each other, except that all depend on the first write to any part. That write must come after the
/// last use of another buffer in the same memory.
class Dependences {
 public:
  /// `list`: a range of the instructions of `plan`. `plan` must outlive this.
  Dependences(const PlanClass& plan, Range list);

  /// The instructions on which the i-th instruction of the list depends, as numbers in the list. They are in the order
  /// of the operands; some may be there more than once.
  [[nodiscard]] std::span<const std::uint32_t> operator[](std::uint32_t i) const {
    return {needs_.data() + first_[i], first_[i + 1] - first_[i]};
  }

 private:
  /// An instruction that has read a buffer since it was last written: a linked list for each buffer, the latest first.
  struct Reader {
    std::uint32_t instruction, next;
  };

  void find_parts();
  void add(std::uint32_t i, const Instruction& instruction);
  /// The buffer that represents the operand's bytes: its storage, or the first buffer that is the same part of the
  /// storage.
  [[nodiscard]] std::uint32_t operand(Range range, std::uint32_t k) const {
    return representative_[plan_.operands[range[k]]];
  }
  template <class F>
  void each(BufferId buffer, F f) const {
    f(buffer);
    if (parts_.empty()) return;
    if (const auto found = parts_.find(buffer); found != parts_.end())
      for (const std::uint32_t part : found->second) f(part);
  }
  void depend_on_first_write(std::uint32_t i, std::uint32_t whole);
  void add_dependence(std::uint32_t i, std::uint32_t earlier);
  void read(std::uint32_t i, BufferId buffer);
  void write(std::uint32_t i, BufferId buffer);

  const PlanClass& plan_;
  std::vector<std::uint32_t> representative_;                            // by buffer: the representative of its bytes
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> parts_;  // by buffer: its parts
  std::vector<std::uint32_t> first_, needs_;
  std::vector<std::uint32_t> writer_, reader_;  // by buffer: the last writer, the head of its list of readers
  std::vector<Reader> readers_;
};

}  // namespace ferry

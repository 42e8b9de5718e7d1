// Dependences: which instructions of a list must come after which earlier ones.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "placement/plan/plan.hpp"

namespace ferry {

/// By the buffers that instructions read and write, nested regions included. Parts of one buffer are apart from each
/// other, but for the first write to any of them: all others need it, so that whoever had the bytes before is done with
/// them.
class Dependences {
 public:
  /// Of the instructions in `list`, a range of those of `plan`, which must outlive this.
  Dependences(const PlanClass& plan, Range list);

  /// The instructions that the i-th of the list needs, by their numbers in the list: in the order of the operands, some
  /// more than once.
  [[nodiscard]] std::span<const std::uint32_t> operator[](std::uint32_t i) const {
    return {needs_.data() + first_[i], first_[i + 1] - first_[i]};
  }

 private:
  /// Who has read a buffer since it was written: a list for each buffer, the last first.
  struct Reader {
    std::uint32_t instruction, next;
  };

  void find_parts();
  void add(std::uint32_t i, const Instruction& instruction);
  /// What stands for the operand's bytes: the buffer that they are, or the first that is the same part of one.
  [[nodiscard]] std::uint32_t operand(Range range, std::uint32_t k) const {
    return bytes_of_[plan_.operands[range.begin + k]];
  }
  template <class F>
  void each(std::uint32_t buffer, F f) const {
    f(buffer);
    if (parts_.empty()) return;
    if (const auto found = parts_.find(buffer); found != parts_.end())
      for (const std::uint32_t part : found->second) f(part);
  }
  void open(std::uint32_t i, std::uint32_t whole);
  void need(std::uint32_t i, std::uint32_t earlier);
  void read(std::uint32_t i, std::uint32_t buffer);
  void write(std::uint32_t i, std::uint32_t buffer);

  const PlanClass& plan_;
  std::vector<std::uint32_t> bytes_of_;                                  // of each buffer
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> parts_;  // of buffers that have some
  std::vector<std::uint32_t> first_, needs_;
  std::vector<std::uint32_t> writer_, reader_;  // of each buffer
  std::vector<Reader> readers_;
};

}  // namespace ferry

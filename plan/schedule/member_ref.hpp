// MemberRef: a reference from a step of a schedule to a member or a part.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// Names a member or a part, absolutely or relative to the member that executes the step.
struct MemberRef {
  enum class By : std::uint8_t {
    number,  ///< index is `value`
    shift,   ///< index is (own index + value) mod members
    flip     ///< index is own index xor value; only if the number of members is a power of two
  };
  By by = By::number;
  std::int32_t value = 0;

  [[nodiscard]] constexpr int resolve(int self, int members) const {
    switch (by) {
      case By::shift:
        return (self + value) % members;
      case By::flip:
        return self ^ value;
      default:
        return value;
    }
  }
  bool operator==(const MemberRef&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop

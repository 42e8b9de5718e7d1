// MemberRef: how a step of a schedule names a member or a part.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// Names a member or a part.
struct MemberRef {
  enum class By : std::uint8_t {
    number,  ///< `value`
    shift,   ///< (own index + value) mod members
    flip     ///< own index xor value; only if the number of members is a power of two
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

// Id: the number of a thing of one kind, such as an op or a value. An id of another kind does not convert to it.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>

#pragma GCC visibility push(default)
namespace ferry {

/// The number of a thing of the kind `Of`: an index into the table of these things. It converts from and to whole
/// numbers, and indexes a vector. Ids of different kinds neither convert into each other nor compare.
///
///     using OpId = Id<class Op>;
///     OpId op = 3;
///     ops[op];           // the op with index 3
///     ValueId value = op;  // does not compile
template <class Of>
class Id {
 public:
  constexpr Id() = default;
  // NOLINTBEGIN(google-explicit-constructor): an id is a number that is checked for its kind.
  template <std::integral Number>
  constexpr Id(Number number) : number_(static_cast<std::uint32_t>(number)) {}
  template <class Other>
  Id(Id<Other>) = delete;
  constexpr operator std::uint32_t() const { return number_; }
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] constexpr std::uint32_t number() const { return number_; }

  constexpr Id& operator++() {
    ++number_;
    return *this;
  }
  constexpr Id operator++(int) { return number_++; }
  constexpr Id& operator--() {
    --number_;
    return *this;
  }
  constexpr Id& operator+=(std::uint32_t more) {
    number_ += more;
    return *this;
  }

 private:
  std::uint32_t number_ = 0;
};

template <class One, class Other>
requires(!std::same_as<One, Other>) bool operator==(Id<One>, Id<Other>) = delete;
template <class One, class Other>
requires(!std::same_as<One, Other>) std::strong_ordering operator<=>(Id<One>, Id<Other>) = delete;

}  // namespace ferry

template <class Of>
struct std::hash<ferry::Id<Of>> {
  std::size_t operator()(ferry::Id<Of> id) const { return std::hash<std::uint32_t>()(id); }
};
#pragma GCC visibility pop

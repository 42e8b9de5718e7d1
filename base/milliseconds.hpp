// Milliseconds: a duration for headers that do not include <chrono>, which takes the compiler long to read.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// A duration of std::chrono, recognized by its members.
template <class T>
concept ChronoDuration = requires(const T& time) {
  time.count();
  typename T::rep;
  T::period::num;
  T::period::den;
};
/// A ChronoDuration that is always a whole number of milliseconds, such as std::chrono::seconds.
template <class T>
concept WholeMilliseconds =
    ChronoDuration<T> && std::integral<typename T::rep> && 1000 * T::period::num % T::period::den == 0;
/// A ChronoDuration that can be any number of milliseconds, such as std::chrono::nanoseconds.
template <class T>
concept PartsOfMilliseconds = ChronoDuration<T> && T::period::den % (1000 * T::period::num) == 0;

/// A number of milliseconds. It converts from and to durations of std::chrono if the conversion is exact:
///
///     ClusterOptions options{.deadline = std::chrono::seconds(5)};
///     std::chrono::nanoseconds time = options.deadline;
class Milliseconds {
 public:
  explicit constexpr Milliseconds(std::int64_t count) : count_(count) {}
  template <WholeMilliseconds T>
  constexpr Milliseconds(const T& time)  // NOLINT
      : count_(static_cast<std::int64_t>(time.count()) * (1000 * T::period::num / T::period::den)) {}

  template <PartsOfMilliseconds T>
  constexpr operator T() const {  // NOLINT
    return T(static_cast<typename T::rep>(count_) * (T::period::den / (1000 * T::period::num)));
  }
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  auto operator<=>(const Milliseconds&) const = default;

 private:
  std::int64_t count_;
};

}  // namespace ferry
#pragma GCC visibility pop

// Milliseconds: a time in headers that do without <chrono>, which the compiler takes long to read.
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
/// One that is a whole number of milliseconds: std::chrono::seconds.
template <class T>
concept WholeMilliseconds =
    ChronoDuration<T> && std::integral<typename T::rep> && 1000 * T::period::num % T::period::den == 0;
/// One that any number of milliseconds can become: std::chrono::nanoseconds.
template <class T>
concept PartsOfMilliseconds = ChronoDuration<T> && T::period::den % (1000 * T::period::num) == 0;

/// A number of milliseconds. Durations of std::chrono become one, and it becomes one of them, where nothing is lost:
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

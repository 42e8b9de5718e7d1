// Random choices that a seed decides: the same on every machine and from every compiler.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferry::test {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  template <std::integral T>
  T below(T n) {
    return static_cast<T>(next() % static_cast<std::uint64_t>(n));
  }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace ferry::test

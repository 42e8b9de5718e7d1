// Ranges: a map from disjoint ranges of bytes to facts about them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace ferry::verifier {

/// Disjoint ranges of bytes, each with a T. An operation that touches m of n ranges takes O(log n + m) time.
template <class T>
class Ranges {
 public:
  /// Sets the value of [begin, end).
  void assign(std::uint64_t begin, std::uint64_t end, const T& value) {
    erase(begin, end);
    if (begin < end) all_[begin] = {end, value};
  }

  void erase(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    cut(begin);
    cut(end);
    all_.erase(all_.lower_bound(begin), all_.lower_bound(end));
  }

  /// Calls f(begin, end, value) for the ranges within [begin, end), cut to it, in order; value is null for gaps. f must
  /// not change the ranges.
  template <class F>
  void visit(std::uint64_t begin, std::uint64_t end, F f) const {
    auto at = all_.upper_bound(begin);
    if (at != all_.begin() && std::prev(at)->second.end > begin) --at;
    while (begin < end) {
      if (at == all_.end() || at->first >= end) return f(begin, end, nullptr);
      if (at->first > begin) {
        f(begin, at->first, nullptr);
        begin = at->first;
      }
      const std::uint64_t to = std::min(end, at->second.end);
      f(begin, to, &at->second.value);
      begin = to;
      ++at;
    }
  }

  /// Calls f(begin, end, value) for all ranges.
  template <class F>
  void each(F f) const {
    for (const auto& [begin, range] : all_) f(begin, range.end, range.value);
  }

  /// Sets each piece of [begin, end) to f(its value); f gets null for a gap, and returns std::nullopt to make a gap.
  template <class F>
  void change(std::uint64_t begin, std::uint64_t end, F f) {
    Ranges changed;
    visit(begin, end, [&](std::uint64_t from, std::uint64_t to, const T* value) {
      if (const auto now = f(value)) changed.all_[from] = {to, *now};
    });
    erase(begin, end);
    all_.merge(changed.all_);
  }

 private:
  struct Range {
    std::uint64_t end = 0;
    T value{};
  };

  void cut(std::uint64_t at) {
    auto range = all_.upper_bound(at);
    if (range == all_.begin()) return;
    --range;
    if (range->first == at || range->second.end <= at) return;
    const Range rest = range->second;
    range->second.end = at;
    all_[at] = rest;
  }

  std::map<std::uint64_t, Range> all_;  // by begin
};

}  // namespace ferry::verifier

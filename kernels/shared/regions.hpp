// One element of the result of RoiAlign with a number of samples that depends on the size of each region.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/scalar_math.hpp"
#include "kernels/shared/state.hpp"

namespace ferry {

/// The attributes of RoiAlign.
struct RegionCut {
  double scale;
  bool half_pixel, largest;
};

[[nodiscard]] inline std::unique_ptr<KernelState> prepare_regions(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  return keep(RegionCut{attrs.get<double>("scale"), attrs.get<bool>("half_pixel"), attrs.get<bool>("largest")});
}

/// A sample between the elements `low` and `high` of a dim.
template <class T>
struct SampleBetween {
  std::int64_t low, high;
  T low_weight, high_weight;
};

/// One dim of a region, cut into equal parts, in an image of `size` elements.
template <class T>
class RegionSide {
 public:
  FERRY_HD RegionSide(T begin, T end, std::int64_t parts, std::int64_t size, const RegionCut& cut) : size_(size) {
    const T edge = cut.half_pixel ? T{0.5} : T{0};
    const T scale = static_cast<T>(cut.scale);
    begin_ = begin * scale - edge;
    T length = end * scale - edge - begin_;
    if (!cut.half_pixel) length = std::max(length, T{1});
    part_ = length / static_cast<T>(parts);
    samples_ = std::max(static_cast<double>(std::ceil(part_)), 0.0);
    step_ = part_ / static_cast<T>(samples_);
  }

  [[nodiscard]] FERRY_HD bool finite() const { return std::isfinite(begin_) && std::isfinite(part_); }
  /// The number of samples in each part. It is whole, but may be too large for an integer type.
  [[nodiscard]] FERRY_HD double samples() const { return samples_; }

  /// Calls f(sample) for the samples of a part that are at most one element outside of the image, in order.
  template <class F>
  FERRY_HD void for_each(std::int64_t part, const F& f) const {
    const T origin = begin_ + static_cast<T>(part) * part_;
    const T end = static_cast<T>(size_);
    // The range has one more sample on each side than needed, in case rounding excludes one.
    const double first = std::max(std::floor(static_cast<double>((T{-1} - origin) / step_)) - 1, 0.0);
    const double last = std::min(std::ceil(static_cast<double>((end - origin) / step_)) + 1, samples_ - 1);
    const auto count = first <= last ? static_cast<std::int64_t>(last - first) + 1 : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const T place = origin + (static_cast<T>(first + static_cast<double>(i)) + T{0.5}) * step_;
      if (place >= T{-1} && place <= end) f(between(place));
    }
  }

 private:
  [[nodiscard]] FERRY_HD SampleBetween<T> between(T place) const {
    const T last = static_cast<T>(size_ - 1);
    const T inside = std::clamp(place, T{0}, last);
    const auto low = static_cast<std::int64_t>(inside);
    const T behind = inside - static_cast<T>(low);
    return {low, std::min(low + 1, size_ - 1), 1 - behind, behind};
  }

  std::int64_t size_;
  T begin_, part_, step_;
  double samples_;
};

/// One element of the result: the mean of the samples or, with `largest`, the largest of their weighted neighbours.
/// Samples outside of the image count as 0.
template <class T>
FERRY_HD T part_of_region(const T* image, std::int64_t width, const RegionSide<T>& rows, const RegionSide<T>& columns,
                          std::int64_t p, std::int64_t q, bool largest) {
  T sum = 0, most = -std::numeric_limits<T>::infinity();
  double inside = 0;
  rows.for_each(p, [&](const SampleBetween<T>& y) {
    const T *above = image + y.low * width, *below = image + y.high * width;
    columns.for_each(q, [&](const SampleBetween<T>& x) {
      const T near[] = {y.low_weight * x.low_weight * above[x.low], y.low_weight * x.high_weight * above[x.high],
                        y.high_weight * x.low_weight * below[x.low], y.high_weight * x.high_weight * below[x.high]};
      for (const T value : near) {
        sum += value;
        most = std::max(most, value);
      }
      ++inside;
    });
  });
  const double samples = rows.samples() * columns.samples();
  if (!largest) return sum / static_cast<T>(std::max(samples, 1.0));
  return samples == 0 ? T{0} : inside < samples ? std::max(most, T{0}) : most;
}

}  // namespace ferry

// Gathers: copies rows from given places of an array.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cuda/array/large_elements.hpp"
#include "kernels/cuda/index/places.hpp"
#include "kernels/cuda/launch.hpp"

namespace ferry::cuda {

/// to[row] = x[place(row)], or zeros if the place is kNowhere. Each thread copies one unit of a row.
template <class Unit, class Place>
struct CopyRows {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const auto [row, k] = divided(i, width);
    const std::int64_t from = place(row);
    to[i] = from == kNowhere ? Unit{} : x[from * width + k];
  }
  Place place;
  const Unit* x;
  Unit* to;
  std::int64_t width;  ///< number of units of a row
};

/// Calls f with a zero of the largest type that divides a row of `bytes` bytes and is aligned at both addresses.
template <class F>
void with_unit(std::int64_t bytes, const std::byte* from, const std::byte* to, const F& f) {
  const auto address = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uintptr_t all = static_cast<std::uintptr_t>(bytes) | address(from) | address(to) | kGroupBytes;
  dispatch_joined(std::size_t{1} << std::countr_zero(all), f);
}

/// Copies `rows` rows of `width` elements from x to consecutive rows of `to`. `place` gives each row's number in x.
template <class Place>
void copy_rows(const KernelRun& run, const Array& x, const Array& to, std::int64_t rows, std::int64_t width,
               const Place& place) {
  const std::int64_t bytes = width * static_cast<std::int64_t>(size_of(x.dtype));
  with_unit(bytes, x.data, to.data, [&](auto zero) {
    using Unit = decltype(zero);
    const std::int64_t units = bytes / static_cast<std::int64_t>(sizeof(Unit));
    for_each(run, rows * units, CopyRows<Unit, Place>{place, x.as<const Unit>(), to.as<Unit>(), units});
  });
}

template <class Place>
void copy_rows(const KernelRun& run, const IndexedRows<Place>& places) {
  copy_rows(run, run.inputs[0], run.outputs[0], places.rows, places.width, places.place);
}

}  // namespace ferry::cuda

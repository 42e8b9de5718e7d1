// Copies of rows that lie somewhere in an array: gathers.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/index/places.hpp"
#include "kernels/cuda/launch.hpp"

namespace ferry::cuda {

/// to[row] = x[place(row)], a unit of a row in each thread. Zeros if the place is nowhere.
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
  std::int64_t width;  ///< units of a row
};

/// Calls f with a zero of the largest unit in which bytes can be moved between such addresses.
template <class F>
void with_unit(std::int64_t bytes, const std::byte* from, const std::byte* to, const F& f) {
  const auto address = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); };
  switch (std::countr_zero(static_cast<std::uintptr_t>(bytes) | address(from) | address(to) | kGroupBytes)) {
    case 0:
      return f(std::uint8_t{});
    case 1:
      return f(std::uint16_t{});
    case 2:
      return f(std::uint32_t{});
    case 3:
      return f(std::uint64_t{});
    default:
      return f(Group<std::uint64_t, 2>{});
  }
}

/// Copies `rows` rows of `width` elements from their places in x to `to`, one after another.
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

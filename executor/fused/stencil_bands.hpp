// StencilBands: the elements of a stencil, cut so that each window of a piece has consecutive elements of one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "executor/fused/stencil_parts.hpp"

namespace ferry {

/// Consecutive elements along the last dim, in each row of a band.
struct StencilSegment {
  std::int64_t count = 0;
  bool late = false;                ///< some window has elements of other tasks there
  std::vector<std::byte*> at;       ///< by StencilBands::moving(): the address of the first element, in the first row
  std::vector<std::int64_t> steps;  ///< by outer dim, the last one first, then by moving(): bytes to the next row
};

/// A box of rows that are cut into the same segments. The outer dims are all dims except the last.
struct StencilBand {
  std::vector<std::int64_t> sizes;  ///< by outer dim
  std::int64_t rows = 0;            ///< the product of `sizes`
  std::vector<StencilSegment> segments;
};

/// Cuts the elements of a stencil into bands and segments. Example: the window that reads the left neighbours of an
/// array of 100 columns, split by rows, has two segments in each band. Column 0 reads the fill, and columns 1 to 99
/// read columns 0 to 98. Arrays with one element or in slots have a null address. Immutable. The addresses
/// point into the arrays of `parts`, or to fills that this object keeps.
class StencilBands {
 public:
  /// Segments have at most `most` elements.
  StencilBands(const StencilParts& parts, std::int64_t most);
  StencilBands(const StencilBands&) = delete;
  StencilBands& operator=(const StencilBands&) = delete;

  [[nodiscard]] std::span<const StencilBand> all() const { return bands_; }
  /// The arrays with an address for each element: those in memory, and windows.
  [[nodiscard]] std::span<const std::uint32_t> moving() const { return moving_; }

 private:
  /// Elements first[d] <= k[d] < last[d] of each array.
  struct Box {
    std::vector<std::int64_t> first, last;
  };

  void find_cuts(std::int64_t most);
  template <class F>
  void each_cell(std::size_t dim, Box& box, const F& f) const;
  void add_band(Box& rows);
  [[nodiscard]] StencilSegment segment(const Box& box);
  void place(StencilSegment& segment, std::size_t moving, std::byte* at, std::span<const std::int64_t> steps) const;
  std::byte* fill(const StencilWindow& window, std::int64_t count);

  const StencilParts& parts_;
  std::vector<std::uint32_t> moving_;             // arrays in memory, then windows
  std::vector<std::int64_t> sizes_, steps_;       // of arrays with an element for each element of the stencil
  std::vector<std::vector<std::int64_t>> cuts_;   // by dim
  std::deque<std::vector<std::uint64_t>> fills_;  // consecutive elements that are alike
  std::vector<StencilBand> bands_;
};

}  // namespace ferry

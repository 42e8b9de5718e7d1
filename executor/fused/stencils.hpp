// StencilWork: elementwise kernels on windows of arrays. Most elements of a window are elements of the task's own part
// of another array: kernels read these in place. The elements along the edges come from neighbours or are filled in:
// windows are copied only along the edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "executor/fused/tiles.hpp"

namespace ferry {

/// An array that kernels of a stencil read or write.
struct StencilArray {
  enum class Storage : std::uint8_t {
    one,     ///< a single element, which kernels use for all elements
    whole,   ///< in memory
    slot,    ///< in a slot on the thread's stack, a piece at a time
    window,  ///< read in place from another array
  };
  Storage storage = Storage::whole;
  Array array;
  std::uint64_t slot = 0;  ///< offset in the thread's kSlotBytes
  std::int64_t size = 0;   ///< bytes of an element
};

/// A kernel that computes a window: array `made` has elements of array `inputs[0]`, at the positions given by `shift`.
struct StencilWindow {
  TileMember member;
  std::vector<Array> inputs = {};
  std::uint32_t made = 0;
  Shift shift = {};
};

/// A kernel that works elementwise on the arrays `inputs` and makes the array `made`.
struct StencilKernel {
  TileMember member;
  std::vector<std::uint32_t> inputs = {};
  std::uint32_t made = 0;
};

/// The parts of a stencil.
struct StencilParts {
  std::int64_t tile = 0;  ///< elements of a slot
  std::vector<StencilArray> arrays;
  std::vector<StencilWindow> windows;
  std::vector<StencilKernel> kernels;
};

/// A stencil, ready to run. Calls throw FailedMember.
class StencilWork {
 public:
  /// `step` and `iterations` as in KernelRun.
  StencilWork(StencilParts parts, Parallel& parallel, const std::int64_t& step,
              std::span<const std::int64_t> iterations);

  /// Call it if a separate instruction calls run_inside() before run().
  void begin_early() { begun_ = true; }
  /// Computes the elements that need no row of another task.
  void run_inside() const;
  /// Computes the remaining elements. Without begin_early() it computes all elements.
  void run() const;

 private:
  /// Elements first[d] <= k[d] < last[d] of each array.
  struct Box {
    std::vector<std::int64_t> first, last;
    [[nodiscard]] std::int64_t count() const;
  };

  /// An array with elements that are prefetched while kernels compute.
  struct Stream {
    std::uint32_t array = 0;
    bool written = false;
  };
  class Pieces;

  void find_streams();
  /// Finds the position of each array in the slots, for pieces of edges; returns the maximum number of elements of such
  /// a piece.
  std::int64_t find_edge_offsets();
  void add_edges(Box box, std::int64_t most);
  void run_rows(std::int64_t begin, std::int64_t end) const;
  void run_edges(std::int64_t begin, std::int64_t end) const;
  void run_edge(const Box& box, Pieces& pieces) const;
  /// An array with one element for each element of the stencil.
  [[nodiscard]] const Array& shape() const { return parts_.arrays[parts_.kernels.back().made].array; }

  StencilParts parts_;
  Parallel& parallel_;
  const std::int64_t& step_;
  std::span<const std::int64_t> iterations_;
  bool begun_ = false;
  std::vector<Stream> streams_;
  Box inside_;
  std::vector<Box> edges_;                  // pieces of the edges
  std::vector<std::int64_t> edge_offsets_;  // by array: offset in the thread's kSlotBytes, for edges
  std::vector<bool> read_, written_;  // by array: whether kernels read it before they write it; whether they write it
};

}  // namespace ferry

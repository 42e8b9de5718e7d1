// StencilWork: elementwise kernels on windows of arrays. The elements of a window are elements of the task's own part
// of another array, elements that came from neighbours, or a number that fills the rest. Kernels read all of them where
// they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "executor/fused/stencil_bands.hpp"
#include "executor/fused/stencil_parts.hpp"
#include "kernels/compiled_region.hpp"

namespace ferry {

/// A stencil, ready to run. Calls throw FailedMember.
class StencilWork {
 public:
  /// `step` and `iterations` as in KernelRun.
  StencilWork(StencilParts parts, Parallel& parallel, const std::int64_t& step,
              std::span<const std::int64_t> iterations);

  /// Call it if a separate instruction calls run_inside() before run().
  void begin_early() { begun_ = true; }
  /// Computes the elements that need no row of another task.
  void run_inside();
  /// Computes the remaining elements. Without begin_early() it computes all elements.
  void run();

 private:
  /// An array with elements that are prefetched while kernels compute.
  struct Stream {
    std::uint32_t array = 0;
    bool written = false;
  };
  /// Kernels that run as one chain, or, without `steps`, a kernel that runs alone.
  struct Pass {
    std::uint32_t kernel = 0;  ///< the last one
    std::vector<ChainStep> steps;
  };
  /// Rows of bands with segments that are late, or with segments that are not.
  struct Part {
    struct Rows {
      std::uint32_t band = 0;
      std::int64_t first = 0;  ///< number of rows of the bands before
    };
    bool late = false;
    std::int64_t rows = 0;
    std::vector<Rows> bands;
  };
  class Pieces;

  /// All kernels as one compiled loop (LazyRegion).
  struct Compiled {
    LazyRegion code;
    std::vector<std::uint32_t> arrays;  ///< in the order of the text
  };

  void find_passes();
  void find_compiled();
  [[nodiscard]] bool extends(const Pass& pass, const StencilKernel& kernel) const;
  void find_streams();
  [[nodiscard]] bool uses_slots() const;
  void add_bands(Part& part) const;
  void run_part(const Part& part) const;
  void run_rows(const Part& part, std::int64_t begin, std::int64_t end) const;
  void run_band(const StencilBand& band, std::int64_t begin, std::int64_t end, bool late, Pieces& pieces) const;

  StencilParts parts_;
  Parallel& parallel_;
  const std::int64_t& step_;
  std::span<const std::int64_t> iterations_;
  bool begun_ = false;
  std::vector<Pass> passes_;
  std::optional<Compiled> compiled_;
  bool at_once_ = false;         // the compiled loop is ready
  std::vector<Stream> streams_;  // empty if there is one pass, which waits for memory less
  std::optional<StencilBands> bands_;
  Part inside_{.late = false, .bands = {}}, edges_{.late = true, .bands = {}};
};

}  // namespace ferry

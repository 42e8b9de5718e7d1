// CompiledTiles: a tile region as one compiled loop, which replaces its kernels with the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "executor/fused/tile_array.hpp"
#include "kernels/compiled_region.hpp"

namespace ferry {

/// A kernel of a tile region.
struct CompiledMember {
  std::string_view op;  ///< "" if the kernel is not ferry's own
  std::uint32_t inputs = 0;
};

class CompiledTiles {
 public:
  /// Returns nothing if generated code cannot compute the region. `arrays` has the inputs and the output of each
  /// member, in the order of members, for `elements` elements. `processor` as LLVM names it. `after`:
  /// ExecutionOptions::compile_after.
  [[nodiscard]] static std::optional<CompiledTiles> of(std::span<const CompiledMember> members,
                                                       std::span<const TileArray> arrays, std::int64_t elements,
                                                       std::string_view processor, std::int64_t after);

  /// LazyRegion::ready().
  [[nodiscard]] bool ready() { return code_.ready(); }
  /// Computes the elements [begin, end) of the same arrays, which may have other addresses. Thread-safe for disjoint
  /// elements.
  void run(std::span<const TileArray> arrays, std::int64_t begin, std::int64_t end) const;

 private:
  class Reader;
  /// An array of the text.
  struct Argument {
    std::uint32_t array = 0;  ///< its number in the region
    bool moves = true;        ///< false: the array has one element
    /// For an input that is broadcast: the sizes of the region's dims, and the input's step along each of them.
    std::vector<std::int64_t> sizes = {}, steps = {};
  };

  LazyRegion code_;
  std::vector<Argument> arguments_;
  std::int64_t segment_ = 0;  // elements of a run along which each input moves by one, or stays
};

}  // namespace ferry

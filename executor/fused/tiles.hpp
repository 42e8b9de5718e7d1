// TileWork: runs elementwise kernels, and kernels on rows, together on one tile after another.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "executor/fused/compiled_tiles.hpp"
#include "kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// An exception thrown by a kernel of a tile region.
struct FailedMember {
  std::exception_ptr thrown;
  const Instruction* member;
};

/// An array in memory with as many elements as the region works on. It is prefetched, tile by tile.
struct TileStream {
  const std::byte* data;
  std::int64_t element_bytes;
  std::int64_t part;  ///< bytes of the next tile to prefetch while one member is computed
  bool written;
};

struct TileMember {
  void (*kernel)(KernelRun&);
  KernelState* state;
  std::uint32_t inputs;
  const Instruction* plan;     ///< for messages
  bool stream = false;         ///< KernelRun::stream
  std::int64_t row = 1;        ///< number of elements of the region per element of the output
  std::int64_t tile_rows = 0;  ///< number of elements of the output in a tile

  /// Returns a run of the kernel on `arrays`, which begin with its inputs and its output. The caller sets
  /// KernelRun::piece.
  [[nodiscard]] KernelRun run_on(std::span<Array> arrays, Parallel& parallel, const std::int64_t& step,
                                 std::span<const std::int64_t> iterations) const;
  /// Computes the piece of a run made by run_on(). Throws FailedMember.
  void compute(KernelRun& run) const;
};

/// A tile region, ready to run.
struct TileWork {
  std::int64_t elements = 0, tile = 0;
  Parallel& parallel;
  const std::int64_t& step;
  std::span<const std::int64_t> iterations;
  std::vector<TileMember> members;
  std::vector<TileArray> arrays;          ///< each member's inputs and output, in the order of members
  std::vector<TileStream> streams;        ///< the arrays to prefetch, each once
  std::optional<CompiledTiles> compiled;  ///< nothing: the members always run kernel by kernel

  /// Makes `member` write its output to `where` from now on; null: to its buffer. No other member may read the output.
  /// `stream` as KernelRun::stream.
  void place(std::uint32_t member, std::byte* where, bool stream);

  /// Call it after the last member has been added.
  void finish();

  /// Runs all members for each tile; tiles are split over the threads. Values that no other instruction reads are in
  /// slots on the thread's stack, or in registers if the region is compiled. Throws FailedMember.
  void run();

 private:
  void run_tiles(std::int64_t begin, std::int64_t end) const;
  void fetch_ahead(std::int64_t begin, std::size_t member) const;
};

}  // namespace ferry

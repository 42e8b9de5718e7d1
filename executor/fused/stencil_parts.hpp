// StencilParts: the arrays, windows and kernels of a stencil.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "executor/fused/tiles.hpp"

namespace ferry {

/// An array that kernels of a stencil read or write.
struct StencilArray {
  enum class Storage : std::uint8_t {
    one,     ///< a single element, which kernels use for all elements
    whole,   ///< in memory
    slot,    ///< in a slot on the thread's stack, a piece at a time
    window,  ///< read in place from other arrays
  };
  Storage storage = Storage::whole;
  Array array;
  std::uint64_t slot = 0;  ///< offset in the thread's kSlotBytes
  std::int64_t size = 0;   ///< bytes of an element
};

/// A window: array `made` has elements of the arrays `inputs`, at the positions given by `shifts`.
struct StencilWindow {
  std::vector<Array> inputs = {};
  std::uint32_t made = 0;
  Shifts shifts = {};
};

/// A kernel that works elementwise on the arrays `inputs` and makes the array `made`.
struct StencilKernel {
  TileMember member;
  std::vector<std::uint32_t> inputs = {};
  std::uint32_t made = 0;
  /// Its op, if it may be a step of a chain; the value of the step is input 0, the operand input 1.
  std::optional<ChainStep::Op> chained = {};
  std::string_view op = {};  ///< if the kernel is ferry's own
};

/// The parts of a stencil. The last kernel makes an array with an element for each element of the stencil.
struct StencilParts {
  std::int64_t tile = 0;            ///< elements of a slot
  ComputeChain chain = nullptr;     ///< null: no kernel is chained
  std::string_view processor = {};  ///< as LLVM names it
  std::int64_t compile_after = -1;  ///< ExecutionOptions::compile_after
  std::vector<StencilArray> arrays = {};
  std::vector<StencilWindow> windows = {};
  std::vector<StencilKernel> kernels = {};
};

}  // namespace ferry

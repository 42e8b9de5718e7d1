// DirectCall: the description of a direct call (executor/direct/collectives.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/types/dtype.hpp"
#include "graph/types/layout.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A direct call without its element type.
struct DirectCall {
  enum class Op : std::uint8_t { all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, barrier, sizes, split };
  Op op = Op::barrier;
  DType dtype = DType::uint8;
  Reduce reduce = Reduce::none;
  int root = 0;
  std::span<const std::byte> input = {};
  std::span<std::byte> output = {};  ///< the input's memory in all_reduce and broadcast
};

}  // namespace ferry
#pragma GCC visibility pop

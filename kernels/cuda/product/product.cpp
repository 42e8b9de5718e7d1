#include "kernels/cuda/product/product.hpp"

namespace ferry::cuda {
namespace {

// An H100 has 132 processors. Each can run two blocks of these products at a time.
constexpr std::int64_t kProcessors = 132;
constexpr std::int64_t kBlocks = 2 * kProcessors;

constexpr std::int64_t kLeastDepth = 256;  // of a part; adding up shallower parts would cost more than it saves
constexpr std::int64_t kDepthUnit = 32;

constexpr std::int64_t tiles_of(const ProductShape& shape, std::int64_t tile) {
  return shape.count * ((shape.m + tile - 1) / tile) * ((shape.n + tile - 1) / tile);
}

/// Cuts k into parts so that the blocks fill the processors. `blocks` blocks compute the sums of one part.
ProductPlan cut(ProductWay way, const ProductShape& shape, std::int64_t blocks) {
  const std::int64_t most = std::max<std::int64_t>(1, shape.k / kLeastDepth);
  const std::int64_t wanted = blocks >= kProcessors ? 1 : std::clamp<std::int64_t>(kBlocks / blocks, 1, most);
  const std::int64_t depth = ((shape.k + wanted - 1) / wanted + kDepthUnit - 1) / kDepthUnit * kDepthUnit;
  return {way, depth == 0 ? 1 : (shape.k + depth - 1) / depth, depth};
}

}  // namespace

ProductPlan plan_product(const ProductShape& shape, std::size_t sum_bytes) {
  const std::int64_t tiles = tiles_of(shape, 64), large = tiles_of(shape, 128);
  if (shape.sums() * 8 < tiles * 64 * 64) {  // less than an eighth of the sums of the tiles would be used
    if (shape.along_k && shape.k >= 4 * kWarp) return {ProductWay::blocks, 1, shape.k};
    return cut(ProductWay::threads, shape, (shape.sums() + 255) / 256);
  }
  const bool fills_large =
      shape.m > 64 && shape.n > 64 && large * std::max<std::int64_t>(1, shape.k / 1024) >= kProcessors;
  if (sum_bytes == sizeof(float) && fills_large) return cut(ProductWay::large_tiles, shape, large);
  return cut(ProductWay::tiles, shape, tiles);
}

std::int64_t product_scratch(const ProductShape& shape, std::size_t sum_bytes) {
  if (shape.sums() == 0) return 0;
  const std::int64_t parts = plan_product(shape, sum_bytes).parts;
  return parts == 1 ? 0 : parts * shape.sums() * static_cast<std::int64_t>(sum_bytes);
}

}  // namespace ferry::cuda

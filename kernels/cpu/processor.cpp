#include "kernels/cpu/processor.hpp"

#include "kernels/cpu/conv/depthwise_tile.hpp"
#include "kernels/cpu/integer/byte_loops.hpp"
#include "kernels/cpu/product/dot_products.hpp"
#include "kernels/cpu/product/product_tile.hpp"

namespace ferry::cpu {

#ifdef FERRY_X86_64_LEVELS
int processor_level() {
  const bool v3 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
                  __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                  __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                  __builtin_cpu_supports("avx512vl") != 0;
  return v4 ? 4 : v3 ? 3 : 1;
}

const ProductTileSet& product_tiles() {
  static const ProductTileSet& best = processor_level() == 4   ? ferry_product_tiles_v4
                                      : processor_level() == 3 ? ferry_product_tiles_v3
                                                               : ferry_product_tiles_baseline;
  return best;
}

const DotProductSet& dot_products() {
  static const DotProductSet& best = processor_level() == 4   ? ferry_dot_products_v4
                                     : processor_level() == 3 ? ferry_dot_products_v3
                                                              : ferry_dot_products_baseline;
  return best;
}

const DepthwiseTileSet& depthwise_tiles() {
  static const DepthwiseTileSet& best = processor_level() == 4   ? ferry_depthwise_tiles_v4
                                        : processor_level() == 3 ? ferry_depthwise_tiles_v3
                                                                 : ferry_depthwise_tiles_baseline;
  return best;
}

const ByteLoops& byte_loops_of(int level) {
  if (level < 3) return ferry_byte_loops_baseline;
  if (level == 3) return ferry_byte_loops_v3;
  return __builtin_cpu_supports("avx512vnni") != 0 ? ferry_byte_loops_vnni : ferry_byte_loops_v4;
}
#else
int processor_level() {
  return 1;
}

const ProductTileSet& product_tiles() {
  return ferry_product_tiles_baseline;
}

const DotProductSet& dot_products() {
  return ferry_dot_products_baseline;
}

const DepthwiseTileSet& depthwise_tiles() {
  return ferry_depthwise_tiles_baseline;
}

const ByteLoops& byte_loops_of(int) {
  return ferry_byte_loops_baseline;
}
#endif

}  // namespace ferry::cpu

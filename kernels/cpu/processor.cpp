#include "kernels/cpu/processor.hpp"

#include "kernels/cpu/integer/byte_loops.hpp"
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

std::span<const ByteLoops* const> all_byte_loops() {
  static const ByteLoops* const all[] = {&ferry_byte_loops_baseline, &ferry_byte_loops_v3, &ferry_byte_loops_v4,
                                         &ferry_byte_loops_vnni};
  const int level = processor_level();
  const bool vnni = level == 4 && __builtin_cpu_supports("avx512vnni") != 0;
  return std::span(all).first(vnni ? 4 : level == 4 ? 3 : level == 3 ? 2 : 1);
}
#else
int processor_level() {
  return 1;
}

const ProductTileSet& product_tiles() {
  return ferry_product_tiles_baseline;
}

std::span<const ByteLoops* const> all_byte_loops() {
  static const ByteLoops* const all[] = {&ferry_byte_loops_baseline};
  return all;
}
#endif

const ByteLoops& byte_loops() {
  static const ByteLoops& best = *all_byte_loops().back();
  return best;
}

}  // namespace ferry::cpu

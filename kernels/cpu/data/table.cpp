#include <string>

#include "kernels/cpu/data/data_kernels.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/level.hpp"
#include "kernels/cpu/processor.hpp"
#include "kernels/cpu/product/blas.hpp"
#include "kernels/cpu/product/product_tile.hpp"

namespace ferry {
namespace {

KernelTable make_table(std::string_view level, int number, const cpu::LevelKernels& kernels) {
  static const std::string library = std::string(cpu::blas_name()) + (cpu::product_tiles().fused ? ", fused" : "");
  KernelTable table(DeviceKind::cpu, level, library, kernels.fold, kernels.chain);
  for (const auto family : kernels.families) table.add(family);
  for (const auto family :
       {cpu::batch_kernels(), cpu::stream_kernels(), cpu::augment_kernels(), cpu::image_kernels(), cpu::file_kernels(),
        cpu::matmul_integer_kernels(number), cpu::conv_integer_kernels(number), cpu::host_kernels()})
    table.add(family);
  return table;
}

/// The kernel tables for the levels of this build that the processor can run.
std::vector<KernelTable> supported_levels() {
  std::vector<KernelTable> levels;
  levels.push_back(make_table(FERRY_BASELINE, 1, *ferry_kernels_baseline()));
#ifdef FERRY_X86_64_LEVELS
  if (cpu::processor_level() >= 3) levels.push_back(make_table("x86-64-v3", 3, *ferry_kernels_v3()));
  if (cpu::processor_level() >= 4) levels.push_back(make_table("x86-64-v4", 4, *ferry_kernels_v4()));
#endif
  return levels;
}

}  // namespace

std::span<const KernelTable> cpu_kernel_levels() {
  static const auto& levels = *new std::vector<KernelTable>(supported_levels());  // never destroyed: threads may use it
                                                                                  // during exit()
  return levels;
}

const KernelTable& cpu_kernels() {
  return cpu_kernel_levels().back();
}

}  // namespace ferry

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/product/matrices.hpp"

namespace ferry::cuda {
namespace {

enum ProductInput : std::size_t { kA, kB, kAZero, kBZero };

/// The products of `a` with the matrix `b`. All dims of `a` except the last one are rows.
Products sizes_of(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return {checked_size(product(a, 0, static_cast<int>(a.size()) - 1)), checked_size(b[1]), checked_size(b[0])};
}

void matmul_integer(KernelRun& run) {
  const Products products = sizes_of(run.inputs[kA].sizes, run.inputs[kB].sizes);
  const CentredBytes a(run.inputs[kA], run.inputs[kAZero]), b(run.inputs[kB], run.inputs[kBZero]);
  multiply(
      run, shape_of(products, {}),
      MatrixFactors<CentredBytes, CentredBytes, std::int32_t>(products, {}, a, b, run.outputs[0].as<std::int32_t>()));
}

std::int64_t matmul_integer_scratch(const KernelSetup& setup) {
  const std::vector<std::int64_t> a = setup.inputs[kA].shape.sizes(), b = setup.inputs[kB].shape.sizes();
  return product_scratch(shape_of(sizes_of(a, b), {}), sizeof(std::int32_t));
}

constexpr Kernel kMatmulIntegerKernels[] = {{.op = "MatMulInteger",
                                             .run = matmul_integer,
                                             .scratch_bytes = matmul_integer_scratch,
                                             .takes = {DType::int8, DType::uint8, DType::int32}}};

}  // namespace

std::span<const Kernel> matmul_integer_kernels() {
  return kMatmulIntegerKernels;
}

}  // namespace ferry::cuda

#include "kernels/sim/regions.hpp"

#include <cstdint>
#include <memory>

namespace ferry::sim {
namespace {

class RegionInTurn final : public KernelState {
 public:
  explicit RegionInTurn(const FusedKernels& kernels) : kernels_(kernels), memory_(kernels.values.size()) {
    for (const Type& type : kernels.values) {
      sizes_.push_back(type.shape.sizes());
      begins_.emplace_back(sizes_.back().size(), 0);
    }
    for (std::size_t v = kernels.inputs + kernels.outputs; v < memory_.size(); ++v)
      memory_[v].resize(static_cast<std::size_t>(kernels.values[v].bytes()) / sizeof(Block) + 1);
  }

  void run(const KernelRun& run) {
    for (const FusedKernels::Member& member : kernels_.members) {
      std::vector<Array> inputs;
      for (const std::uint32_t input : member.inputs)
        inputs.push_back(array(run, input, shape_of(input, member.output)));
      Array output = array(run, member.output, member.output);
      KernelRun of_member{.inputs = inputs,
                          .outputs = {&output, 1},
                          .scratch = {},
                          .parallel = run.parallel,
                          .step = run.step,
                          .iterations = run.iterations};
      member.kernel->run(of_member);
    }
  }

 private:
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  /// Returns the value with the dims in which the kernel of `output` reads `input`. A value may be computed in one
  /// shape and read in another.
  [[nodiscard]] std::uint32_t shape_of(std::uint32_t input, std::uint32_t output) const {
    const auto elements = [&](std::uint32_t value) {
      return kernels_.values[value].bytes() / static_cast<std::int64_t>(size_of(kernels_.values[value].dtype));
    };
    return elements(input) == elements(output) ? output : input;
  }
  [[nodiscard]] Array array(const KernelRun& run, std::uint32_t value, std::uint32_t shape) {
    std::byte* const data = value < kernels_.inputs ? run.inputs[value].data
                            : value < kernels_.inputs + kernels_.outputs
                                ? run.outputs[value - kernels_.inputs].data
                                : reinterpret_cast<std::byte*>(memory_[value].data());
    return {data, kernels_.values[value].dtype, sizes_[shape], sizes_[shape], begins_[shape]};
  }

  const FusedKernels kernels_;
  std::vector<std::vector<Block>> memory_;  // memory of inner values, by value
  std::vector<std::vector<std::int64_t>> sizes_, begins_;
};

}  // namespace

std::vector<BoundKernel> one_by_one(std::span<const FusedKernels> all) {
  std::vector<BoundKernel> made;
  for (const FusedKernels& kernels : all) {
    const auto run = [](KernelRun& run) { static_cast<RegionInTurn*>(run.state)->run(run); };
    made.push_back({run, std::make_unique<RegionInTurn>(kernels)});
  }
  return made;
}

}  // namespace ferry::sim

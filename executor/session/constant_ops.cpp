#include "executor/session/constant_ops.hpp"

#include <algorithm>

namespace ferry {
namespace {

/// The arrays of one op. Each is a whole value, not a part of a split value.
class Arrays {
 public:
  explicit Arrays(std::span<const Type> types) : sizes_(types.size()), begins_(types.size()) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      sizes_[i] = types[i].shape.sizes();
      begins_[i].assign(sizes_[i].size(), 0);
      all.push_back({nullptr, types[i].dtype, sizes_[i], sizes_[i], begins_[i]});
    }
  }

  std::vector<Array> all;

 private:
  std::vector<std::vector<std::int64_t>> sizes_, begins_;
};

}  // namespace

std::vector<Tensor> evaluate(const KernelTable& kernels, const ConstantOp& op) {
  const Kernel* const kernel = kernels.find(op.def.name);
  if (kernel == nullptr) return {};
  std::vector<Tensor> inputs(op.inputs.begin(), op.inputs.end()), results;
  Arrays in(op.input_types), out(op.output_types);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined()) in.all[i].data = inputs[i].mutable_bytes().data();  // kernels do not write to inputs
  for (std::size_t i = 0; i < op.output_types.size(); ++i) {
    results.emplace_back(op.output_types[i].dtype, op.output_types[i].shape.sizes());
    out.all[i].data = results[i].mutable_bytes().data();
  }
  const KernelSetup setup{op.def.name, op.attrs, op.input_types, op.output_types, nullptr, {}};
  ThisThread parallel;
  const std::int64_t step = 0;
  try {
    const BoundKernel bound = bind(kernels, *kernel, setup);
    std::vector<std::byte> scratch(static_cast<std::size_t>(scratch_of(*kernel, setup)));
    KernelRun run{.inputs = in.all,
                  .outputs = out.all,
                  .state = bound.state.get(),
                  .scratch = scratch,
                  .parallel = parallel,
                  .step = step,
                  .iterations = {}};
    bound.run(run);
  } catch (...) {  // a user's kernel may throw anything: the op then runs in the step, which reports the error
    return {};
  }
  return results;
}

}  // namespace ferry

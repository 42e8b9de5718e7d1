// The kernels of Batch, which gives the rows of a step, and of Print.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/system/output.hpp"
#include "base/text.hpp"
#include "graph/types/tensor.hpp"
#include "kernels/cpu/data/epoch.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/random_key.hpp"
#include "kernels/cpu/state.hpp"

namespace ferry::cpu {
namespace {

/// The order of an epoch's rows, drawn when the epoch begins.
class Batches final : public KernelState {
 public:
  Batches(std::uint64_t key, std::int64_t rows, std::int64_t batch, bool shuffle)
      : key_(key), batch_(batch), shuffle_(shuffle), order_(static_cast<std::size_t>(shuffle ? rows : 0)) {}

  /// The row of the data from which row `row` of this step's whole batch comes. Call begin_step() first.
  [[nodiscard]] std::int64_t source(std::int64_t row) const {
    const std::int64_t at = first_ + row;
    return shuffle_ ? order_[static_cast<std::size_t>(at)] : at;
  }

  void begin_step(std::int64_t step, std::int64_t rows) {
    const EpochPlace place = epoch_place(step, rows, batch_);
    first_ = place.first;
    if (!shuffle_ || place.epoch == epoch_) return;
    draw_order({key_, static_cast<std::uint64_t>(place.epoch)}, order_);
    epoch_ = place.epoch;
  }

 private:
  std::uint64_t key_;
  std::int64_t batch_;
  bool shuffle_;
  std::int64_t first_ = 0;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
};

void batch(KernelRun& run) {
  auto& batches = static_cast<Batches&>(*run.state);
  batches.begin_step(run.step, run.inputs[0].sizes[0]);
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const Array& input = run.inputs[i];
    const Array& output = run.outputs[i];
    const std::int64_t row_bytes =
        product(input.sizes, 1, input.rank()) * static_cast<std::int64_t>(size_of(input.dtype));
    if (row_bytes == 0) continue;
    for_chunks(run.parallel, output.sizes[0], grain_of(row_bytes / 8), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        std::memcpy(output.data + row * row_bytes, input.data + batches.source(output.begin[0] + row) * row_bytes,
                    static_cast<std::size_t>(row_bytes));
    });
  }
}

std::unique_ptr<KernelState> prepare_batch(const KernelSetup& setup) {
  return std::make_unique<Batches>(epoch_key(setup), setup.inputs[0].shape[0].size(),
                                   setup.attrs.get<std::int64_t>("batch"), setup.attrs.get<bool>("shuffle"));
}

// ---- Print ----

constexpr std::size_t kMostLabel = 400;

struct Printed {
  std::string label;
  bool here;  ///< whether this task prints; of the tasks that have the value only one does
};

void print(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto& printed = kept<Printed>(run);
  if (output.rank() > 0) output.sizes[0] = input.sizes[0];
  const auto bytes = static_cast<std::size_t>(input.count()) * size_of(input.dtype);
  if (bytes > 0) std::memmove(output.data, input.data, bytes);
  if (!printed.here) return;
  const std::shared_ptr<const void> borrowed(std::shared_ptr<const void>(), input.data);
  const Tensor shown(input.dtype, {input.sizes.begin(), input.sizes.end()}, borrowed, {input.data, bytes});
  const std::string line = escaped(printed.label, kMostLabel) + ": " + shown.str() + "\n";
  write_all(STDERR_FILENO, line);
}

std::unique_ptr<KernelState> prepare_print(const KernelSetup& setup) {
  return keep(Printed{setup.attrs.get<std::string>("label"), setup.first});
}

constexpr Kernel kKernels[] = {
    {.op = "Batch", .run = batch, .prepare = prepare_batch, .takes = kAnyType},
    {.op = "Print", .run = print, .prepare = prepare_print, .in_place = 1, .effect = true, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> batch_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu

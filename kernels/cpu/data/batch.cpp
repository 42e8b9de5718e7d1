// The kernels of Batch, which outputs the rows of a step, and of Print.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/system/output.hpp"
#include "base/text.hpp"
#include "graph/types/tensor.hpp"
#include "kernels/cpu/data/epoch.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/random_key.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// The rows of each step. If they are shuffled, their order is drawn at the beginning of an epoch.
class RowsOfSteps final : public KernelState {
 public:
  RowsOfSteps(const KernelSetup& setup, std::int64_t rows)
      : key_(epoch_key(setup)),
        batches_(setup, rows),
        shuffle_(setup.attrs.get<bool>("shuffle")),
        order_(static_cast<std::size_t>(shuffle_ ? rows : 0)) {}

  /// The row of the data that is row `row` of this step's whole batch. Call begin_step() first.
  [[nodiscard]] std::int64_t source(std::int64_t row) const {
    const std::int64_t at = first_ + row;
    return shuffle_ ? order_[at] : at;
  }

  void begin_step(std::int64_t step) {
    const Batches::Place place = batches_.at(step);
    first_ = place.first;
    if (!shuffle_ || place.epoch == epoch_) return;
    draw_order({key_, static_cast<std::uint64_t>(place.epoch)}, order_);
    epoch_ = place.epoch;
  }

 private:
  std::uint64_t key_;
  PlannedBatches batches_;
  bool shuffle_;
  std::int64_t first_ = 0;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
};

void batch(KernelRun& run) {
  auto& rows = static_cast<RowsOfSteps&>(*run.state);
  rows.begin_step(run.step);
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const Array& input = run.inputs[i];
    const Array& output = run.outputs[i];
    const std::int64_t row_bytes =
        product(input.sizes, 1, input.rank()) * static_cast<std::int64_t>(size_of(input.dtype));
    if (row_bytes == 0) continue;
    for_chunks(run.parallel, output.sizes[0], grain_of(row_bytes / 8), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        std::memcpy(output.data + row * row_bytes, input.data + rows.source(output.begin[0] + row) * row_bytes,
                    static_cast<std::size_t>(row_bytes));
    });
  }
}

std::unique_ptr<KernelState> prepare_batch(const KernelSetup& setup) {
  return std::make_unique<RowsOfSteps>(setup, setup.inputs[0].shape[0].size());
}

// ---- Print ----

constexpr std::size_t kMostLabel = 400;

struct PrintState {
  std::string label;
  bool prints_here;  ///< whether this task prints: only one of the tasks that have the value prints
};

void print(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  const auto& printed = kept<PrintState>(run);
  if (output.rank() > 0) output.sizes[0] = input.sizes[0];
  const auto bytes = static_cast<std::size_t>(input.count()) * size_of(input.dtype);
  if (bytes > 0) std::memmove(output.data, input.data, bytes);
  if (!printed.prints_here) return;
  const std::shared_ptr<const void> borrowed(std::shared_ptr<const void>(), input.data);
  const Tensor shown(input.dtype, {input.sizes.begin(), input.sizes.end()}, borrowed, {input.data, bytes});
  const std::string line = escaped(printed.label, kMostLabel) + ": " + shown.str() + "\n";
  write_all(STDERR_FILENO, line);
}

std::unique_ptr<KernelState> prepare_print(const KernelSetup& setup) {
  return keep(PrintState{setup.attrs.get<std::string>("label"), setup.first});
}

constexpr Kernel kKernels[] = {
    {.op = "Batch", .run = batch, .prepare = prepare_batch, .takes = kAnyType},
    {.op = "Print", .run = print, .prepare = prepare_print, .in_place = 1, .effect = true, .takes = kAnyType},
};

}  // namespace

Batches::Place PlannedBatches::at(std::int64_t step) const {
  const Batches::Place place = all_.at(step);
  FERRY_ASSERT(place.count == rows_, "the batch of a step has another size than the plan's batches");
  return place;
}

std::span<const Kernel> batch_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu

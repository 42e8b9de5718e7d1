// The kernel of BatchFile: the rows of a step, read from files while earlier steps run.
#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "base/files/prefetch.hpp"
#include "kernels/cpu/data/array_file.hpp"
#include "kernels/cpu/data/data_kernels.hpp"
#include "kernels/cpu/data/epoch.hpp"
#include "kernels/cpu/data/image_folder.hpp"
#include "kernels/cpu/data/text_file.hpp"
#include "kernels/shared/random_key.hpp"

namespace ferry::cpu {
namespace {

/// The orders of the epochs that are being read: two epochs when one ends and the next begins. Thread-safe.
class EpochOrders {
 public:
  using Order = std::shared_ptr<const std::vector<std::int64_t>>;

  EpochOrders(std::uint64_t key, std::int64_t rows) : key_(key), rows_(rows) {}

  [[nodiscard]] Order order_of(std::int64_t epoch) {
    const std::lock_guard lock(mutex_);
    Drawn& drawn = drawn_[epoch % 2];
    if (drawn.order == nullptr || drawn.epoch != epoch) {
      drawn.order = nullptr;  // frees its memory now, unless a reader still holds it
      auto order = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(rows_));
      draw_order({key_, static_cast<std::uint64_t>(epoch)}, *order);
      drawn = {epoch, std::move(order)};
    }
    return drawn.order;
  }

 private:
  struct Drawn {
    std::int64_t epoch = -1;
    Order order;
  };
  std::uint64_t key_;
  std::int64_t rows_;
  std::mutex mutex_;
  Drawn drawn_[2];
};

/// The open file of one op, and the threads that read ahead from it.
class StreamedRows final : public KernelState {
 public:
  StreamedRows(const KernelSetup& setup, DeclaredArray declared)
      : file_(open(setup, std::move(declared))),
        batches_(setup, file_->rows()),
        shuffle_(setup.attrs.get<bool>("shuffle")),
        ahead_(static_cast<int>(setup.attrs.get<std::int64_t>("prefetch"))),
        orders_(epoch_key(setup), file_->rows()) {}

  /// Returns rows [first, first + count) of the batch of a step. `first`, `count` and `threads` belong to the task and
  /// must be the same in every call.
  [[nodiscard]] std::span<const std::byte> take(std::int64_t step, std::int64_t first, std::int64_t count,
                                                int threads) {
    if (!blocks_) begin(first, count, threads);
    static_cast<void>(batches_.at(step));
    return blocks_->take(batches_.number_of(step));
  }

 private:
  static std::unique_ptr<RowFile> open(const KernelSetup& setup, DeclaredArray declared) {
    const bool text = declared.format == "csv" || declared.format == "libsvm";
    if (text) return std::make_unique<TextFile>(*setup.files, setup.data_folder, std::move(declared));
    if (declared.format == "images")
      return std::make_unique<ImageFolder>(*setup.files, setup.data_folder, std::move(declared));
    return std::make_unique<ArrayFile>(*setup.files, setup.data_folder, std::move(declared));
  }

  void begin(std::int64_t first, std::int64_t count, int threads) {
    first_ = first;
    count_ = count;
    const int readers = batches_.smaller() ? 1 : file_->readers(threads, ahead_);
    const int ahead = batches_.smaller() ? 1 : std::max(ahead_, readers);  // the next smaller batch comes much later
    blocks_.emplace(
        static_cast<std::size_t>(count) * file_->row_bytes(), ahead, readers,
        [this](std::int64_t number, std::span<std::byte> block) { read(batches_.step_of(number), block.data()); });
  }

  void read(std::int64_t step, std::byte* target) {
    const Batches::Place place = batches_.at(step);
    const std::int64_t first = place.first + first_;
    if (!shuffle_) return file_->read(first, count_, target, place.epoch);
    const EpochOrders::Order order = orders_.order_of(place.epoch);
    for (std::int64_t row = 0; row < count_; ++row, target += file_->row_bytes())
      file_->read((*order)[first + row], 1, target, place.epoch);
  }

  std::unique_ptr<RowFile> file_;
  PlannedBatches batches_;
  bool shuffle_;
  int ahead_;
  EpochOrders orders_;
  std::int64_t first_ = 0, count_ = 0;  // of this task's part of a batch
  std::optional<Prefetcher> blocks_;    // the last member, because its threads use the other members
};

void stream(KernelRun& run) {
  const Array& output = run.outputs[0];
  if (output.count() == 0) return;
  const auto block =
      static_cast<StreamedRows&>(*run.state).take(run.step, output.begin[0], output.sizes[0], run.parallel.threads());
  copy_part(run, output, block.data(), output.begin[0]);
}

std::unique_ptr<KernelState> prepare_stream(const KernelSetup& setup) {
  const Attrs& attrs = setup.attrs;
  const auto& path = attrs.get<std::string>("path");
  require_folder(setup, path);
  return std::make_unique<StreamedRows>(
      setup, DeclaredArray{.format = attrs.get<std::string>("format"),
                           .path = path,
                           .tensor = attrs.get<std::string>("tensor"),
                           .type = Type{attrs.get<DType>("dtype"), attrs.get<Shape>("shape")},
                           .skip = attrs.get_or<std::int64_t>("skip", 0),
                           .features = attrs.get_or<std::int64_t>("features", 0),
                           .classes = attrs.get_or<std::int64_t>("classes", 0),
                           .resize = attrs.get_or<std::int64_t>("resize", 0),
                           .augment = attrs.get_or<bool>("augment", false),
                           .key = image_key(setup)});
}

constexpr Kernel kKernels[] = {
    {.op = "BatchFile", .run = stream, .prepare = prepare_stream, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> stream_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "bench/tasks/two_tasks.hpp"

namespace ferry::bench {
namespace {

/// Microseconds of an all-reduce. Both sides sum the same floats repeatedly, and halve a few of them after each sum, so
/// that these stay finite.
template <class Sum>
double micros_of_sum(std::span<float> values, const Work& work, const Sum& sum) {
  constexpr std::size_t kHalved = 16;
  std::ranges::fill(values, 0.0F);
  const std::int64_t times = work.steps * work.per_step;
  const auto all = [&] {
    for (std::int64_t k = 0; k < times; ++k) {
      sum(values);
      for (float& value : values.first(std::min(kHalved, values.size()))) value = value * 0.5F + 1;
    }
  };
  return micros(all) / static_cast<double>(times);
}

/// The all-reduces of both sides. Each side has its own memory; ferry uses `lent` if it is given.
Sides sums(const Cluster& cluster, std::int64_t bytes, const std::shared_ptr<LentBuffer<float>>& lent) {
  const auto count = static_cast<std::size_t>(bytes) / sizeof(float);
  auto theirs = std::make_shared<std::vector<float>>(count), plain = std::make_shared<std::vector<float>>(count);
  const Work work = work_for(bytes);
  const auto by_ferry = [=](std::span<float> values) { cluster.all_reduce(values); };
  const auto by_mpi = [](std::span<float> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  return {[=] { return micros_of_sum(lent ? lent->span() : std::span<float>(*plain), work, by_ferry); },
          [=] { return micros_of_sum(*theirs, work, by_mpi); }};
}

}  // namespace

Sides direct(const Cluster& cluster, std::int64_t bytes) {
  return sums(cluster, bytes, nullptr);
}

Sides direct_lent(const Cluster& cluster, std::int64_t bytes) {
  return sums(
      cluster, bytes,
      std::make_shared<LentBuffer<float>>(cluster.buffer<float>(static_cast<std::size_t>(bytes) / sizeof(float))));
}

}  // namespace ferry::bench

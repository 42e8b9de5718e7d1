#include "bench/graphs/metg.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace ferry::bench {

double metg(std::span<const Grain> grains) {
  constexpr double kKept = 0.5;
  const auto fits = std::ranges::find_if(grains, [](const Grain& grain) { return grain.efficiency() >= kKept; });
  if (fits == grains.end()) return std::numeric_limits<double>::infinity();
  if (fits == grains.begin()) return fits->taken;
  const Grain& finer = *std::prev(fits);
  const double over = fits->ideal - kKept * fits->taken, under = kKept * finer.taken - finer.ideal;
  return std::min(fits->taken, finer.taken + (fits->taken - finer.taken) * under / (under + over));
}

}  // namespace ferry::bench

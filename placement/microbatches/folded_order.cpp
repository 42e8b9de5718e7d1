#include "placement/microbatches/folded_order.hpp"

#include <algorithm>

namespace ferry {
namespace {

using Pass = PipelineWork::Pass;

/// Appends work. Each call takes the next microbatch of the given pass and stage.
class Order {
 public:
  explicit Order(std::int64_t microbatches) : microbatches_(microbatches) {}

  void add(Pass pass, bool back) {
    const std::int64_t microbatch = done(pass, back)++;
    if (microbatch < microbatches_) work.push_back({pass, back, microbatch});
  }
  /// Adds both parts of a backward pass.
  void add_backward(bool back) {
    add(Pass::backward, back);
    add(Pass::weights, back);
  }
  std::int64_t& done(Pass pass, bool back) { return done_[static_cast<int>(pass)][back ? 1 : 0]; }

  std::vector<FoldedWork> work;

 private:
  std::int64_t microbatches_;
  std::int64_t done_[3][2] = {};
};

}  // namespace

std::vector<FoldedWork> folded_order(std::int64_t p, std::int64_t d, std::int64_t m) {
  const std::int64_t after = p - d;  // number of devices from device d on
  // The pattern needs at least 2 p - 1 microbatches. With fewer, add() skips the missing ones.
  const std::int64_t all = std::max(m, 2 * p - 1);
  Order order(m);
  for (std::int64_t k = 0; k < 2 * after - 1; ++k) order.add(Pass::forward, false);
  for (std::int64_t k = 0; k < d; ++k) {
    order.add(Pass::forward, true);
    order.add(Pass::forward, false);
  }
  for (std::int64_t k = 0; k < after; ++k) {
    order.add(Pass::forward, true);
    order.add_backward(true);
  }
  while (order.done(Pass::forward, true) < all) {
    if (order.done(Pass::forward, false) < all) order.add(Pass::forward, false);
    order.add_backward(false);
    order.add(Pass::forward, true);
    order.add_backward(true);
  }
  for (std::int64_t k = 0; k < d; ++k) {
    order.add(Pass::backward, false);
    order.add(Pass::backward, true);
  }
  for (std::int64_t k = 0; k < after; ++k) order.add_backward(false);
  for (const bool back : {true, false})
    while (order.done(Pass::weights, back) < all) order.add(Pass::weights, back);
  return order.work;
}

}  // namespace ferry

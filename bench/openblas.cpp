#include "bench/openblas.hpp"

#include <cblas.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.hpp"

namespace ferry::bench {
namespace {

/// Its threads look for more work for some 2^28 cycles; what is measured next would share their cores.
constexpr std::chrono::milliseconds kTillAsleep{400};

struct Product {
  explicit Product(int size) : n(size), a(count(size)), b(count(size)), c(count(size)) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(i % 17) - 8;
      b[i] = static_cast<float>(i % 13) - 6;
    }
  }
  static std::size_t count(int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }
  void run() {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0F, a.data(), n, b.data(), n, 0.0F, c.data(), n);
  }
  int n;
  std::vector<float> a, b, c;
};

}  // namespace

std::function<double()> product_by_openblas(int n, int threads, int times) {
  const auto product = std::make_shared<Product>(n);
  return [=] {
    openblas_set_num_threads(threads);
    product->run();
    const TimePoint begin = system_clock().now();
    for (int i = 0; i < times; ++i) product->run();
    const std::chrono::duration<double> seconds = system_clock().now() - begin;
    openblas_set_num_threads(1);
    if (threads > 1) std::this_thread::sleep_for(kTillAsleep);
    return seconds.count() / times;
  };
}

}  // namespace ferry::bench

#include "bench/peers/openblas.hpp"

#include <cblas.h>
#include <dlfcn.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/system/clock.hpp"

namespace ferry::bench {
namespace {

/// Functions of OpenBLAS, from the copy of the library that ferry's kernels have loaded.
struct Library {
  void* handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  decltype(&cblas_sgemm) sgemm = reinterpret_cast<decltype(&cblas_sgemm)>(dlsym(handle, "cblas_sgemm"));
  decltype(&openblas_set_num_threads) set_threads =
      reinterpret_cast<decltype(&openblas_set_num_threads)>(dlsym(handle, "openblas_set_num_threads"));
};

/// The time until OpenBLAS's threads sleep. They spin for some 2^28 cycles first, on cores that the next measurement
/// needs.
constexpr std::chrono::milliseconds kTillAsleep{400};

struct Product {
  explicit Product(int size) : n(size), a(count(size)), b(count(size)), c(count(size)) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(i % 17) - 8;
      b[i] = static_cast<float>(i % 13) - 6;
    }
  }
  static std::size_t count(int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }
  void run(const Library& library) {
    library.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0F, a.data(), n, b.data(), n, 0.0F, c.data(),
                  n);
  }
  int n;
  std::vector<float> a, b, c;
};

}  // namespace

std::function<double()> product_by_openblas(int n, int threads, int times) {
  const auto product = std::make_shared<Product>(n);
  return [=, library = Library()] {
    library.set_threads(threads);
    product->run(library);
    const TimePoint begin = system_clock().now();
    for (int i = 0; i < times; ++i) product->run(library);
    const std::chrono::duration<double> seconds = system_clock().now() - begin;
    library.set_threads(1);
    if (threads > 1) std::this_thread::sleep_for(kTillAsleep);
    return seconds.count() / times;
  };
}

}  // namespace ferry::bench

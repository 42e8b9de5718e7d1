// An implementation of Parallel for tests, with any number of threads.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/kernel.hpp"

namespace ferry::test {

/// Runs chunks in any order on `threads` threads: the caller and others that are made for each call.
class Threads final : public Parallel {
 public:
  explicit Threads(int threads = 1) : threads_(threads) {}

  void for_each(std::int64_t n, std::int64_t grain, const Body& body) override {
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
      for (std::int64_t begin; (begin = next.fetch_add(grain)) < n;) {
        try {
          body(begin, std::min(begin + grain, n));
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      }
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
    if (failure) std::rethrow_exception(failure);
  }
  [[nodiscard]] int threads() const override { return threads_; }

 private:
  int threads_;
};

}  // namespace ferry::test

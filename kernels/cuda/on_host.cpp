#include "kernels/cuda/on_host.hpp"

#include <ucontext.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/cuda/queue.hpp"
#include "kernels/cuda_on_host.hpp"

namespace ferry::cuda {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::size_t kMostShown = 16;

Order chosen = Order::forward;
std::minstd_rand random_numbers{1};  // NOLINT(cert-msc51-cpp): the same in every run

/// The numbers 0 … n - 1 in the chosen order.
std::vector<std::int64_t> ordered(std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (chosen == Order::backward) std::reverse(order.begin(), order.end());
  if (chosen == Order::shuffled) std::shuffle(order.begin(), order.end(), random_numbers);
  return order;
}

/// The point at which a fiber, or the thread that runs the fibers, continues. Sanitizers only support swapcontext().
/// It is slower, because it makes a system call at each switch.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
class Place {
 public:
  void leave_for(Place& other) { swapcontext(&saved_, &other.saved_); }
  void leave_for(const ucontext_t& fiber, Place& place) {
    place.saved_ = fiber;
    leave_for(place);
  }

 private:
  ucontext_t saved_{};
};
#else
class Place {
 public:
  /// Saves this place and continues at `other`.
  [[gnu::noinline]] void leave_for(Place& other) {
    if (__builtin_setjmp(saved_) == 0) other.resume();
  }
  /// Saves this place and starts a fiber.
  [[gnu::noinline]] void leave_for(const ucontext_t& fiber, Place&) {
    if (__builtin_setjmp(saved_) == 0) setcontext(&fiber);
  }

 private:
  /// A function of its own, because a function must not call __builtin_setjmp() and __builtin_longjmp() both.
  [[noreturn, gnu::noinline]] void resume() { __builtin_longjmp(saved_, 1); }
  void* saved_[5];
};
#endif

enum class Stop { barrier, exchange, end };

/// A thread of a block.
struct Fiber {
  Place place;
  std::unique_ptr<char[]> stack;  ///< null until the fiber has started
  Stop at = Stop::end;
  std::byte shown[kMostShown];
};

/// Runs the threads of a block one after another, each up to its next barrier, exchange or end.
class Scheduler {
 public:
  void run(const std::function<void(const HostBlock&)>& f) {
    body_ = &f;
    error_ = nullptr;
    for (int t = 0; t < detail::kThreads; ++t) start(t);
    for (bool any = true; any;) {
      for (const std::int64_t warp : ordered(detail::kThreads / kWarp))
        finish_exchanges(static_cast<int>(warp) * kWarp);
      if (error_ != nullptr) std::rethrow_exception(error_);
      any = fibers_[0].at == Stop::barrier;
      for (const Fiber& fiber : fibers_)
        FERRY_ASSERT(fiber.at == fibers_[0].at, "some threads of a block wait at a barrier, and others have ended");
      if (!any) break;
      for (const std::int64_t t : ordered(detail::kThreads)) continue_fiber(static_cast<int>(t));
    }
  }
  /// Called in a fiber: returns to the scheduler, which continues this fiber when the other fibers have arrived, too.
  void wait(Stop at) {
    Fiber& mine = fibers_[running_];
    mine.at = at;
    mine.place.leave_for(main_);
  }
  [[nodiscard]] Fiber& fiber(int thread) { return fibers_[thread]; }

 private:
  static void enter() {
    Scheduler& all = instance();
    Fiber& mine = all.fibers_[all.running_];
    for (;; mine.place.leave_for(all.main_)) {
      try {
        (*all.body_)(HostBlock(static_cast<int>(all.running_)));
      } catch (...) {
        all.error_ = std::current_exception();
      }
      mine.at = Stop::end;
    }
  }
  /// Prepares a fiber for a new block. If it still waits in a block that has failed, it gets a new stack.
  void start(int thread) {
    Fiber& fiber = fibers_[thread];
    if (fiber.at != Stop::end) fiber.stack.reset();
    fiber.at = Stop::exchange;  // so that finish_exchanges() runs it
  }
  void continue_fiber(int thread) {
    running_ = static_cast<std::size_t>(thread);
    Fiber& fiber = fibers_[running_];
    if (fiber.stack != nullptr) return main_.leave_for(fiber.place);
    fiber.stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    ucontext_t context{};
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = kStackBytes;
    makecontext(&context, enter, 0);
    main_.leave_for(context, fiber.place);
  }
  /// Runs the warp that begins at thread `first` until each of its threads waits at a barrier or has ended.
  void finish_exchanges(int first) {
    const auto begin = fibers_.begin() + first, end = begin + kWarp;
    const auto exchanges = [](const Fiber& fiber) { return fiber.at == Stop::exchange; };
    while (std::any_of(begin, end, exchanges)) {
      FERRY_ASSERT(std::all_of(begin, end, exchanges), "some threads of a warp exchange values, and others do not");
      for (const std::int64_t t : ordered(kWarp)) continue_fiber(first + static_cast<int>(t));
    }
  }

 public:
  static Scheduler& instance() {
    thread_local Scheduler scheduler;
    return scheduler;
  }

 private:
  std::vector<Fiber> fibers_ = std::vector<Fiber>(detail::kThreads);
  Place main_;
  std::size_t running_ = 0;
  const std::function<void(const HostBlock&)>* body_ = nullptr;
  std::exception_ptr error_;
};

thread_local std::int32_t claimed = 0;
thread_local BadRecord bad_record{};

}  // namespace

void run_threads(Order order) {
  chosen = order;
}

int HostBlock::threads() const {
  return detail::kThreads;
}

void HostBlock::sync() const {
  Scheduler::instance().wait(Stop::barrier);
}

void HostBlock::exchange_bytes(std::span<std::byte> value, int lanes) const {
  Scheduler& all = Scheduler::instance();
  std::ranges::copy(value, all.fiber(thread_).shown);
  all.wait(Stop::exchange);
  std::copy_n(all.fiber(thread_ ^ lanes).shown, value.size(), value.begin());
  all.wait(Stop::exchange);  // no thread may show its next value before all threads have read this one
}

void detail::in_order(std::int64_t n, const std::function<void(std::int64_t)>& f) {
  if (chosen == Order::forward)
    for (std::int64_t i = 0; i < n; ++i) f(i);
  else
    for (const std::int64_t i : ordered(n)) f(i);
}

void detail::run_block(const std::function<void(const HostBlock&)>& f) {
  Scheduler::instance().run(f);
}

void detail::launch(const KernelRun& run, std::function<void()> kernel) {
  if (run.queue != nullptr) return launch_on(static_cast<Queue*>(run.queue)->stream, std::move(kernel));
  kernel();
  if (claimed == 0) return;
  claimed = 0;
  throw bad_value(bad_record);
}

BadReport report_of(const KernelRun& run) {
  if (run.queue != nullptr) return static_cast<const Queue*>(run.queue)->report;
  return {&claimed, &bad_record, nullptr};
}

}  // namespace ferry::cuda

// What instructions.py runs under valgrind to count instructions:
//
//     instructions walk|hop|take TIMES
//
// walk: a chain of ops that do nothing, on one thread. hop, take: one task's side of a chain that alternates between
// two tasks, over a transport whose messages have always arrived; hop has them by receive(), take by take().
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bench/graphs/null_graphs.hpp"
#include "executor/run/task_executor.hpp"
#include "kernels/kernel.hpp"
#include "ops/math/math.hpp"
#include "tests/support/plans.hpp"

using namespace ferry;

namespace {

/// The transport of task 0; task 1, which does not exist, seems to have sent and received everything already.
class Scripted final : public Transport, public SharedMemory {
 public:
  explicit Scripted(bool takes)
      : Transport({.name = "scripted", .tasks = 2, .any_thread = true, .shared_memory = takes ? this : nullptr}) {}
  Ticket send(int, std::uint32_t, std::span<const std::byte>) override { return kComplete; }
  Ticket receive(int, std::uint32_t, std::span<std::byte> bytes) override {
    std::memset(bytes.data(), 0, bytes.size());
    return kComplete + 1;
  }
  bool takes(int, std::uint64_t) const override { return true; }
  bool take(int, std::uint32_t, std::span<std::byte> bytes) override {
    std::memset(bytes.data(), 0, bytes.size());
    return true;
  }
  bool done(Ticket) override { return true; }
  void idle(std::chrono::microseconds) override {}
  std::vector<std::string> exchange(std::string_view, const Deadline&) override { return {}; }
  void abort(const Failure&) noexcept override {}
  std::optional<Failure> failure() override { return std::nullopt; }
  void close() override {}
  WireCount sent() const override { return {}; }

  bool lends(int) const override { return false; }
  std::optional<std::uint64_t> lend(std::span<const std::byte>) const override { return std::nullopt; }
  std::span<std::byte> borrowed(int, std::uint64_t, std::uint64_t) const override { return {}; }
  std::shared_ptr<std::byte> memory(std::uint64_t, std::string_view) override { return nullptr; }
  std::byte* window(int, std::uint32_t, std::uint64_t) override { return nullptr; }
  std::size_t stream_from(int) const override { return SIZE_MAX; }
};

void walk(int times) {
  const auto run = bench::null_run_by_ferry(bench::null_chain(1000), 1);
  for (int i = 0; i < times; ++i) static_cast<void>(run());
}

/// Runs task 0's side of a chain of 1000 ops, 500 on each task.
void hop(int times, bool takes) {
  constexpr int kHops = 1000;
  Graph g;
  Value value = g.input("x", DType::float32, {1});
  const Value first = value;
  for (int k = 0; k < kHops; ++k) {
    const auto here = g.device(k % 2 == 0 ? "/task:0" : "/task:1");
    value = value + 1.0;
  }
  const Plan plan = test::planned(g, {value}, 2, {}, {{first.id(), {1}}});
  Scripted transport(takes);
  Workers workers({});
  const ExecutorOptions options{.run = {.kernels = &cpu_kernel_levels().front()}};
  TaskExecutor executor(
      plan, 0, transport, workers, [](std::string_view) -> std::byte* { return nullptr; }, options);
  const Tensor feeds[] = {Tensor::of<float>({1}, {0.0F})};
  std::vector<Tensor> fetched(1);
  for (int i = 0; i < times; ++i) executor.step(i, feeds, fetched);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const int times = std::atoi(argv[2]);
  if (what == "walk")
    walk(times);
  else
    hop(times, what == "take");
  return 0;
}

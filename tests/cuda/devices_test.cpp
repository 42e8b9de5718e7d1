// What drives CUDA devices, over a runtime on the host: the suite of all devices, shares, locked pages, and failures.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "executor/job/introduction.hpp"
#include "executor/job/job_state.hpp"
#include "executor/session/session.hpp"
#include "kernels/cuda_on_host.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/device_suite.hpp"
#include "tests/support/has.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

using cuda::machine_on_host;

/// The machine on the host, for one test.
struct Machine {
  explicit Machine(cuda::MachineOnHost machine) { machine_on_host() = std::move(machine); }
  ~Machine() { machine_on_host() = {}; }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
};

/// (6 + 6) / divisor, on gpu:0 of the last of `tasks` tasks.
template <class T>
T divided(int tasks, T divisor, const SessionOptions& options = {}) {
  Graph g;
  const Value x = g.input("x", dtype_of<T>(), {3}), d = g.input("d", dtype_of<T>(), {3});
  Value y;
  {
    const auto there = g.device("/task:" + std::to_string(tasks - 1) + "/gpu:0");
    y = ((x + x).named("doubled") / d).named("quotient");
  }
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = tasks, .jobs = "", .simulated = 1});
  cluster.state().devices = cuda::devices_on_host();
  Session session(g, cluster, options);
  const auto all = [](T value) { return Tensor::of<T>({3}, {value, value, value}); };
  return session.run({y}, {{"x", all(6)}, {"d", all(divisor)}})[0].template data<T>()[2];
}

}  // namespace

TEST_CASE("CUDA devices do what every device must") {
  const Machine machine({});
  check_device_library(cuda::devices_on_host());
  check_device_groups(cuda::devices_on_host());
  CHECK(machine_on_host().locked.empty());
}

TEST_CASE("a page of the host that two values share is locked once, as long as one of them is used") {
  const Machine machine({});
  const Devices devices(cuda::devices_on_host(), {.count = 1});
  alignas(4096) static std::byte memory[4 * 4096];
  const auto whole = [&] {
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> pages;
    for (const auto& [first, end] : machine_on_host().locked)
      if (!pages.empty() && pages.back().second == first)
        pages.back().second = end;
      else
        pages.emplace_back(first, end);
    return pages;
  };
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  auto first = devices.host_memory(memory + 100, 8), second = devices.host_memory(memory + 3 * 4096, 10);
  CHECK(whole().size() == 2);
  auto all = devices.host_memory(memory + 50, 3 * 4096);  // from the first page to the last
  CHECK(whole() == std::vector{std::pair{begin, begin + sizeof memory}});
  first.reset();
  second.reset();
  CHECK(whole() == std::vector{std::pair{begin, begin + sizeof memory}});
  auto again = devices.host_memory(memory + 50, 3 * 4096);  // as two sessions use one variable
  again.reset();
  CHECK(whole() == std::vector{std::pair{begin, begin + sizeof memory}});
  all.reset();
  CHECK(whole().empty());
}

TEST_CASE("what is copied may lie in pages of which others have locked some") {
  const Machine machine({});
  const Devices devices(cuda::devices_on_host(), {.count = 1});
  constexpr std::size_t kBytes = 3 * 4096;
  alignas(4096) static std::byte from[4 * 4096], to[4 * 4096];
  for (std::size_t i = 0; i < kBytes; ++i) from[100 + i] = static_cast<std::byte>(i % 251);
  const auto others = devices.host_memory(from + 5000, 8), more = devices.host_memory(to + 200, 8);
  const auto queue = devices.queue(0);
  const auto memory = devices.memory(0, kBytes, "x");
  std::vector<Devices::Owned> used;
  for (const bool locks : {false, true}) {
    std::fill(to, to + sizeof to, std::byte{});
    if (locks)
      for (const std::byte* const at : {from, to}) used.push_back(devices.host_memory(at + 100, kBytes));
    devices.copy(queue.get(), memory.get(), from + 100, kBytes, nullptr);
    devices.copy(queue.get(), to + 100, memory.get(), kBytes, nullptr);
    CHECK(std::equal(to + 100, to + 100 + kBytes, from + 100));
  }
}

TEST_CASE("a value without elements lies on a CUDA device, too") {
  const Machine machine({});
  const Devices devices(cuda::devices_on_host(), {.count = 1});
  CHECK(devices.memory(0, 0, "x") != nullptr);
}

TEST_CASE("sessions run on CUDA devices") {
  const Machine machine({});
  CHECK(divided<float>(1, 8) == 1.5F);
  CHECK(divided<std::int64_t>(3, 5) == 2);
}

namespace {

/// The results of four steps that count their feeds and draw random numbers, also in a loop.
std::vector<Tensor> drawn(DeviceKind where) {
  Graph g;
  const Value x = g.input("x", DType::float32, {5});
  const Values last = while_loop(
      {x, g.constant(0)}, [](const Values& v) { return v[1] < 3; },
      [](const Values& v) {
        return Values{v[0] * 0.5 + uniform_like(v[0]), v[1] + 1};
      });
  const Value y = -(last[0] + uniform_like(x)) + x;
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 1, .jobs = "", .simulated = 1});
  cluster.state().devices = cuda::devices_on_host();
  SessionOptions options;
  options.plan.default_device = where;
  Session session(g, cluster, options);
  std::vector<Tensor> all;
  for (int step = 0; step < 4; ++step) {
    const auto fed = static_cast<float>(step);
    all.push_back(session.run({y}, {{"x", Tensor::of<float>({5}, {fed, 1, 2, 3, fed})}})[0]);
  }
  return all;
}

}  // namespace

TEST_CASE("what is captured is replayed on what the memory has then, and draws anew") {
  const Machine machine({});
  const std::vector<Tensor> wanted = drawn(DeviceKind::cpu);
  CHECK(machine_on_host().captures == 0);
  const std::vector<Tensor> got = drawn(DeviceKind::gpu);
  CHECK(machine_on_host().captures >= 1);
  CHECK(machine_on_host().replays > machine_on_host().captures);
  for (std::size_t step = 0; step < wanted.size(); ++step) CHECK(got[step].same_bits(wanted[step]));
  CHECK_FALSE(wanted[1].same_bits(wanted[2]));
}

TEST_CASE("a GPU that fails while it captures or replays ends the job") {
  for (const std::string function : {"begin_capture", "end_capture", "replay"})
    for (const bool is_gone : {false, true}) {
      CAPTURE(function);
      const Machine machine({.why = "", .fails = function, .after = 0, .is_gone = is_gone});
      const Error error = error_of([&] { static_cast<void>(drawn(DeviceKind::gpu)); });
      CHECK(error.code() == (is_gone ? Code::peer_lost : Code::bug));
      CHECK(says(error, function == "replay" ? "a GPU has failed: to replay captured work"
                                             : "a GPU has failed: to capture work"));
    }
}

TEST_CASE("a queue that goes while it captures leaves others in peace") {
  const Machine machine({});
  const Devices devices(cuda::devices_on_host(), {.count = 1});
  auto queue = devices.queue(0);
  devices.begin_capture(queue.get());
  CHECK_THROWS_AS(static_cast<void>(devices.memory(0, 8, "x")), FailedWork);
  queue.reset();
  const Devices others(cuda::devices_on_host(), {.count = 1});
  CHECK(others.memory(0, 8, "x") != nullptr);
}

namespace {

/// The sum over two tasks of what each one's GPU has, in two steps.
std::vector<Tensor> added() {
  Graph g;
  const Value x = g.input("x", DType::float32, {2, 3});
  Value y;
  {
    const auto all = g.on(g.mesh("dp", "/task:*/gpu:0"));
    y = identity(sum(identity(x).laid({split(0)}) * 2.0F, {0})).laid({replicated()}).named("y");
  }
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 2, .jobs = "", .simulated = 1});
  cluster.state().devices = cuda::devices_on_host();
  Session session(g, cluster);
  std::vector<Tensor> got;
  for (int step = 0; step < 2; ++step)
    got.push_back(session.run({y}, {{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}})[0]);
  return got;
}

}  // namespace

TEST_CASE("tasks have their parts of a constant, of which a column is none that lies together") {
  const Machine machine({});
  const Tensor whole = Tensor::of<float>({4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (const int tasks : {1, 2, 3})
    for (const int dim : {0, 1}) {
      Graph g;
      Value y;
      {
        const auto all = g.on(g.mesh("dp", "/task:*/gpu:0"));
        y = g.constant(whole).named("y").laid({split(dim)});
      }
      const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = tasks, .jobs = "", .simulated = 1});
      cluster.state().devices = cuda::devices_on_host();
      Session session(g, cluster);
      CHECK(session.run({y})[0].same_bits(whole));
    }
}

TEST_CASE("GPUs of two tasks add by NCCL") {
  const Machine machine({});
  for (const Tensor& sum : added()) CHECK(sum.same_bits(Tensor::of<float>({3}, {10, 14, 18})));
}

TEST_CASE("GPUs fold what NCCL moves, with the bits of CPUs") {
  const Machine machine({});
  Graph g;
  const Value x = g.input("x", DType::float32, {3, 5});
  Values made;
  {
    const auto all = g.on(g.mesh("dp"));
    const Value rows = identity(x).laid({split(0)});
    made = {identity(sum(rows * 0.3F, {0})).laid({replicated()}).named("float"),
            identity(max(rows, {0})).laid({replicated()}).named("largest"),
            identity(sum(cast(rows * 100.0F, DType::int16), {0})).laid({replicated()}).named("int16"),
            identity(sum(rows * 0.7F, {0})).laid({split(0)}).named("parts")};
  }
  const Tensor given = Tensor::of<float>({3, 5}, {0.1F, 2, 3, 4, 5, 0.2F, 2e7F, 8, -1, 0, 0.3F, 3, 1, 7, 1e-3F});
  const auto run = [&](bool gpus) {
    const Cluster cluster = Cluster::connect(
        {.tasks = 3, .invariant = 3, .simulated = gpus ? std::optional<std::uint64_t>(1) : std::nullopt});
    if (gpus) cluster.state().devices = cuda::devices_on_host();
    Session session(g, cluster);
    return session.run(made, {{"x", given}});
  };
  const std::vector<Tensor> found = run(true), wanted = run(false);
  for (std::size_t i = 0; i < made.size(); ++i) CHECK(found[i].same_bits(wanted[i]));
}

TEST_CASE("a collective that NCCL breaks off ends all tasks, and is named") {
  for (const char* const function : {"join", "collective", "state"})
    for (const int after : {0, 3}) {
      if (after > 0 && std::string_view(function) == "join") continue;
      CAPTURE(std::string(function));
      CAPTURE(after);
      const Machine machine({.why = "", .nccl_fails = function, .nccl_after = after});
      const Error error = error_of([] { static_cast<void>(added()); });
      CHECK(error.code() == Code::peer_lost);
      CHECK(says(error, "GPUs cannot work together: "));
      CHECK(says(error, "NCCL on the host: a lost member"));
      if (std::string_view(function) == "collective") CHECK(says(error, "on task "));
    }
}

TEST_CASE("GPUs say which libraries of matrix products and convolutions they lack") {
  const Machine machine({});
  const DeviceLibrary library = cuda::devices_on_host();
  const auto described = [&] { return std::string(library.table->describe(library.library.get(), 0)); };
  CHECK(has(described(), ", without cuBLASLt (no library is offered), without cuDNN (no library is offered)"));
  cuda::offer_blas(true);
  cuda::offer_dnn(true);
  CHECK(!has(described(), "without cu"));
  cuda::offer_blas(false);
  cuda::offer_dnn(false);
}

TEST_CASE("GPUs without NCCL say why they do not work together") {
  const Machine machine({.why = "", .why_no_nccl = "libnccl.so.2: cannot open shared object file"});
  const DeviceLibrary library = cuda::devices_on_host();
  const char* why = "";
  CHECK(library.table->group_domain(library.library.get(), &why) == 0);
  CHECK(std::string(why) == "libnccl.so.2: cannot open shared object file");
  CHECK(has(library.table->describe(library.library.get(), 0), "without NCCL (libnccl.so.2"));
}

TEST_CASE("an integer that a GPU divides by zero is an error, as on a CPU, and the op is named") {
  const Machine machine({});
  for (const int tasks : {1, 2}) {
    const Error error = error_of([&] { static_cast<void>(divided<std::int32_t>(tasks, 0)); });
    CHECK(error.code() == Code::usage);  // the divisor was fed
    CHECK(says(error, "an integer is divided by zero"));
    CHECK(says(error, "\"quotient\""));
  }
  CHECK(divided<float>(1, 0) == std::numeric_limits<float>::infinity());
}

TEST_CASE("a GPU that fails ends the job, and a device that is gone is a task lost") {
  for (const char* const function : {"record", "wait", "query", "copy"})
    for (const bool is_gone : {false, true}) {
      CAPTURE(std::string(function));
      const Machine machine({.why = "", .fails = function, .after = 0, .is_gone = is_gone});
      const Error error = error_of([&] { static_cast<void>(divided<float>(1, 2)); });
      CHECK(error.code() == (is_gone ? Code::peer_lost : Code::bug));
      CHECK(says(error, "a GPU has failed"));
    }
}

TEST_CASE("a kernel whose failure the GPU tells late is named if each is waited for") {
  SessionOptions options;
  const auto failed = [&](int after) {
    const Machine machine({.why = "", .fails = "launch", .after = after});
    return error_of([&] { static_cast<void>(divided<std::int32_t>(1, 2, options)); });  // integers are not fused
  };
  CHECK(says(failed(0), "copy \"quotient\" on task 0: a GPU has failed"));  // the first thing that is waited for
  options.run.sync_gpu = true;
  CHECK(says(failed(0), "Add \"doubled\" on task 0: a GPU has failed"));
  CHECK(says(failed(1), "Div \"quotient\" on task 0: a GPU has failed"));
  const Machine machine({});
  CHECK(divided<float>(1, 8, options) == 1.5F);
}

TEST_CASE("a machine whose GPUs cannot be used says why") {
  const auto why_of = [](const DeviceLibrary& library) {
    const char* why = "";
    CHECK(library.table->count(library.library.get(), &why) == 0);
    return std::string(why);
  };
  {
    const Machine machine({.devices = 0, .why = "this machine has no NVIDIA driver"});
    CHECK(why_of(cuda::devices_on_host()) == "this machine has no NVIDIA driver");
  }
  const Machine machine({.why = "", .without_code = {0, 1, 2}});
  const std::string why = why_of(cuda::devices_on_host());
  CHECK(has(why, "GPU 0 cannot be used: "));
  CHECK(has(why, "; GPU 1 cannot be used: "));
}

TEST_CASE("a GPU that cannot be used costs itself alone, and the others keep their numbers") {
  const Machine machine(
      {.devices = 4, .why = "", .without_code = {1}, .memory_bytes = 100, .used_bytes = {0, 0, 0, 40}});
  const DeviceLibrary library = cuda::devices_on_host();
  const char* why = "";
  library.table->count(library.library.get(), &why);
  CHECK(has(why, "GPU 1 cannot be used: "));
  CHECK(std::string(why).find("GPU 0") == std::string::npos);
  const Introduction me = introduce({}, library);
  CHECK(me.gpus == 3);
  CHECK(me.no_gpus == why);
  CHECK(me.gpu_memory_bytes == 60);  // of the one that has least
  const Devices second(library, {.task = 1, .first = 1, .count = 2});
  for (const int device : {0, 1}) {
    const auto queue = second.queue(device);
    const auto memory = second.memory(device, 8, "x");
    const auto event = second.event();
    second.copy(queue.get(), memory.get(), memory.get() + 4, 4, nullptr);
    second.record(queue.get(), event.get());
    while (!second.happened(event.get())) {
    }
  }
  CHECK(machine_on_host().used == std::set{2, 3});
}

TEST_CASE("075 a GPU whose memory others have taken: the step's largest values are named") {
  const Machine machine({.why = "", .memory_bytes = 100});
  const Error error = error_of([&] { static_cast<void>(divided<double>(1, 2)); });
  CHECK(error.code() == Code::resource);
  CHECK(says(error, "a step of task 0 on gpu:0: the device has no memory for"));
  CHECK(says(error, "it has 'quotient' float64[3]: 24 B at"));
  CHECK(says(error, "devices_test.cpp:"));
}

TEST_CASE("076 a GPU lost in the middle of a step over two tasks ends it on both, and its task is named") {
  for (const int after : {0, 1}) {
    CAPTURE(after);
    const Machine machine({.why = "", .fails = "launch", .fails_on = 1, .after = after, .is_gone = true});
    Graph g;
    const Value x = g.input("x", DType::float32, {1024});
    Value sums[2];
    for (int task = 0; task < 2; ++task) {
      const auto there = g.device("/task:" + std::to_string(task) + "/gpu:0");
      sums[task] = sum(x, {0}).named("sum" + std::to_string(task)) + x;  // two kernels
    }
    const Value y = sums[0] + sums[1];
    const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 2, .jobs = "", .simulated = 1});
    cluster.state().devices = cuda::devices_on_host();
    cluster.state().topology.tasks[1].first_gpu = 1;
    Session session(g, cluster);
    const Tensor ones = Tensor::of<float>({1024}, std::vector<float>(1024, 1));
    const Error error = error_of([&] { static_cast<void>(session.run({y}, {{"x", ones}})); });
    CHECK(error.code() == Code::peer_lost);
    CHECK(says(error, "task 1"));
    CHECK(says(error, "the device is gone"));
    CHECK(machine_on_host().used == std::set{0, 1});
  }
}

}  // namespace ferry::test

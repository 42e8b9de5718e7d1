// Plans with devices besides the host, on simulated devices. The planner's plans pass the verifier and give the same
// bits as on the host. A flaw put into a plan is refused by the verifier; if the plan is run all the same, the device
// reports it whatever order it draws. The device also reports flaws of the executor.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
#include "comm/transport.hpp"
#include "executor/observe/trace.hpp"
#include "executor/run/task_executor.hpp"
#include "executor/session/session.hpp"
#include "kernels/device.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/op_set.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/has.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kElements = 64;
constexpr std::uint64_t kSeeds = 20;
constexpr std::int64_t kSteps = 4;  // captured work is submitted one by one, captured, and replayed twice

/// Feeds, a variable, a loop, fetches: all that moves between the host and a device of one task.
struct Model {
  Graph graph;
  Signature signature;

  Model() {
    const Value x = graph.input("x", DType::float32, {kElements}), y = graph.input("y", DType::float32, {kElements});
    const Value w = graph.variable("w", graph.constant(Tensor(DType::float32, {kElements})));
    const Value h = (x * w).named("h");
    const Value sum = (h + y).named("sum");
    const Values last = while_loop(
        {sum, graph.constant(0)}, [](const Values& v) { return v[1] < 3; },
        [](const Values& v) {
          return Values{v[0] * 0.5 + 1, v[1] + 1};
        });
    signature.feeds = {{x.id(), 0, {kElements}}, {y.id(), 0, {kElements}}};
    signature.fetches = {sum.id(), last[0].id()};
    signature.targets = {assign(w, w + h).op().id()};
  }
};

const KernelsOfDevices& kernels() {
  static const KernelsOfDevices all(cpu_kernels(), simulated_devices(1));
  return all;
}

Plan planned(const Graph& graph, const Signature& signature) {
  Topology topology = Topology::local(1);
  topology.tasks[0].gpus = 8;
  PlanOptions options;
  options.default_device = DeviceKind::gpu;
  options.check_passes = true;
  return make_plan(graph, signature, topology, kernels(), options).plan;
}

Plan planned() {
  const Model model;
  return planned(model.graph, model.signature);
}

std::string refusal(const Plan& plan) {
  return verify(plan, {nullptr, &kernels()}).reason;
}

/// Runs the plan, unverified, for some steps; returns the text of the error, "" for none. `library`: the simulated one,
/// or one that wraps it.
std::string error_of(const Plan& plan, const DeviceLibrary& library, std::vector<Tensor>* fetched = nullptr,
                     const std::function<void(ExecutorOptions&)>& choose = {}) {
  const Devices devices(library, {});
  const auto w = devices.memory(0, kElements * sizeof(float), "w");
  Workers workers({.threads = 1, .crowded = true, .on_start = {}});
  const auto transports = inproc_transports(1);
  std::string error;
  ExecutorOptions options{.devices = &devices, .device_kernels = kernels().devices()};
  if (choose) choose(options);
  try {
    TaskExecutor executor(
        plan, 0, *transports[0], workers, [&](std::string_view) { return w.get(); }, options);
    std::vector<float> numbers(kElements, 2);
    const Tensor feeds[] = {Tensor::of<float>({kElements}, numbers), Tensor::of<float>({kElements}, numbers)};
    std::vector<Tensor> got(plan.fetches.size());
    for (std::int64_t step = 0; step < kSteps; ++step) executor.step(step, feeds, got);
    if (fetched != nullptr) *fetched = got;
  } catch (const Error& failed) {
    error = failed.text();
  }
  transports[0]->close();
  return error;
}

/// The boxes of a trace, by row and in their order: name, category, begin and end in microseconds.
struct Box {
  std::string name, category;
  double begin, end;
};
std::map<std::string, std::vector<Box>> rows_of(const Trace& trace) {
  std::map<int, std::string> names;
  std::map<std::string, std::vector<Box>> rows;
  const std::string text = trace.str(Duration());
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto event = nlohmann::json::parse(line.substr(0, line.size() - 1));
    const int row = event.value("tid", -1);
    if (event["name"] == "thread_name") names[row] = event["args"]["name"].get<std::string>();
    if (event["ph"] != "X") continue;
    const double begin = event["ts"].get<double>();
    rows[event["cat"] == "step" ? "steps" : names[row]].push_back(
        {event["name"].get<std::string>(), event["cat"].get<std::string>(), begin, begin + event["dur"].get<double>()});
  }
  return rows;
}

// ---- Finding instructions ----

PlanClass& role(Plan& plan) {
  return plan.classes[0];
}

/// The first instruction, from the step's first on, for which is(i) holds.
template <class F>
Instruction& found(Plan& plan, F is) {
  PlanClass& c = role(plan);
  const std::uint32_t step = c.regions[1].instructions.first;
  for (std::uint32_t i = step; i < c.instructions.size(); ++i)
    if (is(c.instructions[i])) return c.instructions[i];
  FAIL("there is no such instruction");
  return c.instructions[0];
}

bool is_on(const PlanClass& c, const Instruction& i, PlanQueue::Role queue) {
  return c.on_queue(i) && c.queues[i.strand - c.threads].role == queue;
}

Instruction& kernel(Plan& plan, std::string_view name) {
  return found(plan, [&](const Instruction& i) { return i.what == Opcode::kernel && plan.string(i.name) == name; });
}
Instruction& copy_on(Plan& plan, PlanQueue::Role queue) {
  return found(plan, [&](const Instruction& i) { return i.what == Opcode::copy && is_on(role(plan), i, queue); });
}
Instruction& opcode(Plan& plan, Opcode what) {
  return found(plan, [&](const Instruction& i) { return i.what == what; });
}
Buffer& input(Plan& plan, const Instruction& i, std::uint32_t k = 0) {
  return role(plan).buffers[role(plan).inputs(i)[k]];
}
Buffer& output(Plan& plan, const Instruction& i) {
  return role(plan).buffers[role(plan).outputs(i)[0]];
}
Range region_of(Plan& plan, Region::Kind kind) {
  const auto is = [kind](const Region& region) { return region.kind == kind; };
  return std::ranges::find_if(role(plan).regions, is)->instructions;
}
Instruction& in_region(Plan& plan, Region::Kind kind, std::uint32_t i) {
  return role(plan).instructions[region_of(plan, kind)[i]];
}
Instruction& last_of(Plan& plan, Region::Kind kind) {
  return in_region(plan, kind, region_of(plan, kind).count - 1);
}

// ---- Flaws of plans ----

struct Flaw {
  const char* what;
  void (*plant)(Plan&);
  const char* refused;   ///< part of the verifier's reason
  const char* reported;  ///< part of the device's error, when the plan is run all the same
};

constexpr Flaw kFlaws[] = {
    {"a kernel does not wait for what is copied in", [](Plan& plan) { kernel(plan, "h").waits = {}; },
     "race for buffer", "reads memory that queue"},
    {"a copy to the host does not wait for the kernel",
     [](Plan& plan) {
       Instruction& copy = in_region(plan, Region::Kind::condition, 1);
       REQUIRE(copy.what == Opcode::copy);
       copy.waits = {};
     },
     "race for buffer", "reads memory that queue"},
    {"the host does not wait for what is copied out", [](Plan& plan) { opcode(plan, Opcode::fetch).waits = {}; },
     "race for buffer", "the host reads memory that queue"},
    {"a wait for too little",
     [](Plan& plan) {
       const Instruction& sum = kernel(plan, "sum");
       --role(plan).waits[sum.waits.first].count;
     },
     "race for buffer", "reads memory that queue"},
    {"a region ends before its queues have", [](Plan& plan) { last_of(plan, Region::Kind::step).waits = {}; },
     "a region ends, and thread 0 has not waited for queue", "nothing orders the one after the other"},
    {"a loop's condition is read before it has come",
     [](Plan& plan) { last_of(plan, Region::Kind::condition).waits = {}; },
     "a region ends, and thread 0 has not waited for queue", "the host reads memory that queue"},
    {"a body ends before its kernels have", [](Plan& plan) { last_of(plan, Region::Kind::body).waits = {}; },
     "a region ends, and thread 0 has not waited for queue", "nothing orders the one after the other"},
    {"a copy comes too late",
     [](Plan& plan) {
       Instruction &copy = copy_on(plan, PlanQueue::Role::in), &user = kernel(plan, "h");
       user.waits = {};
       std::swap(copy, user);
     },
     "race for buffer", "writes memory that queue"},
    {"the host fills memory again that is being copied",
     [](Plan& plan) {
       Instruction &second = in_region(plan, Region::Kind::step, 1), &copy = in_region(plan, Region::Kind::step, 2);
       REQUIRE(second.what == Opcode::feed);
       REQUIRE(copy.what == Opcode::copy);
       output(plan, second).offset = input(plan, copy).offset;
       std::swap(second, copy);
     },
     "race for buffer", "the host writes memory that queue"},
    {"memory of the device is filled again that a kernel still reads",
     [](Plan& plan) {
       const Instruction &first = in_region(plan, Region::Kind::step, 2),
                         &second = in_region(plan, Region::Kind::step, 4);
       REQUIRE(is_on(role(plan), first, PlanQueue::Role::in));
       REQUIRE(is_on(role(plan), second, PlanQueue::Role::in));
       output(plan, second).offset = output(plan, first).offset;
     },
     "race for buffer", "writes memory that queue"},
    {"a kernel's value lies on the host",
     [](Plan& plan) {
       Buffer& made = output(plan, kernel(plan, "h"));
       made.device = input(plan, opcode(plan, Opcode::fetch)).device;
       made.offset = 0;
     },
     "is on cpu:0", "is given memory of the host"},
    {"a kernel's value is on another device",
     [](Plan& plan) {
       PlanDevice other{DeviceKind::gpu, 1, 0, 0};
       Buffer& made = output(plan, kernel(plan, "h"));
       other.step_bytes = made.bytes;
       made.offset = 0;
       made.device = static_cast<std::uint32_t>(role(plan).devices.size());
       role(plan).devices.push_back(other);
     },
     "is on gpu:1", "is given memory of gpu:1"},
    {"a kernel runs on the queue of copies",
     [](Plan& plan) {
       Instruction& moved = kernel(plan, "h");
       for (const std::uint32_t at : {8U, 14U}) {  // the moved kernel's queue has one instruction less to wait for
         const Instruction& waits = in_region(plan, Region::Kind::step, at);
         REQUIRE(waits.waits.count == 1);
         --role(plan).waits[waits.waits.first].count;
       }
       moved.strand = copy_on(plan, PlanQueue::Role::out).strand;
     },
     "race for buffer", "reads memory that queue"},
    {"a copy from the host is captured",
     [](Plan& plan) {
       const auto h = static_cast<std::uint32_t>(&kernel(plan, "h") - role(plan).instructions.data());
       role(plan).stretches = {{h, 2}};
     },
     "is not on a compute queue", "a copy that is captured leaves gpu:0"}};

TEST_CASE("what is planned for a device is verified, and gives the bits of the host whatever order is drawn") {
  const Plan plan = planned();
  CHECK(refusal(plan) == "");
  const Model model;
  const Plan on_host = make_plan(model.graph, model.signature, Topology::local(1), cpu_kernels()).plan;
  std::vector<float> w(kElements, 0);
  Workers workers({.threads = 1, .crowded = true, .on_start = {}});
  const auto transports = inproc_transports(1);
  TaskExecutor executor(on_host, 0, *transports[0], workers,
                        [&](std::string_view) { return reinterpret_cast<std::byte*>(w.data()); }, {});
  std::vector<float> numbers(kElements, 2);
  const Tensor feeds[] = {Tensor::of<float>({kElements}, numbers), Tensor::of<float>({kElements}, numbers)};
  std::vector<Tensor> wanted(2), got;
  for (std::int64_t step = 0; step < kSteps; ++step) executor.step(step, feeds, wanted);
  transports[0]->close();
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    REQUIRE(error_of(plan, simulated_devices(seed), &got) == "");
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(got[i].same_bits(wanted[i]));
  }
}

TEST_CASE("flaws of plans are refused, and reported by the device when they are run all the same") {
  for (const Flaw& flaw : kFlaws) {
    CAPTURE(std::string(flaw.what));
    Plan plan = planned();
    flaw.plant(plan);
    CHECK(test::has(refusal(plan), flaw.refused));
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      CAPTURE(seed);
      CHECK(test::has(error_of(plan, simulated_devices(seed)), flaw.reported));
    }
  }
}

TEST_CASE("a kernel that is waited for in the middle of a stretch is refused, and reported when it is replayed") {
  Graph g;
  const Value x = g.input("x", DType::float32, {kElements}), y = g.input("y", DType::float32, {kElements});
  const Value first = (x + y).named("first"), second = (x * y).named("second");
  Signature signature;
  signature.feeds = {{x.id(), 0, {kElements}}, {y.id(), 0, {kElements}}};
  signature.fetches = {first.id(), second.id()};
  Plan plan = planned(g, signature);
  REQUIRE(refusal(plan) == "");
  REQUIRE(role(plan).stretches.empty());
  REQUIRE(&kernel(plan, "first") + 1 == &kernel(plan, "second"));
  role(plan).stretches = {{static_cast<std::uint32_t>(&kernel(plan, "first") - role(plan).instructions.data()), 2}};
  CHECK(test::has(refusal(plan), "is in the middle of a captured stretch, and copy 'first'"));
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    CHECK(test::has(error_of(plan, simulated_devices(seed)), "reads memory that queue"));
  }
}

// ---- Flaws of the executor ----

/// The simulated devices, with the table changed by plant(). `table` must outlive the result.
DeviceLibrary flawed(std::uint64_t seed, DeviceTable& table, const std::function<void(DeviceTable&)>& plant) {
  DeviceLibrary library = simulated_devices(seed);
  table = *library.table;
  plant(table);
  library.table = &table;
  return library;
}

TEST_CASE("an executor that forgets an event, a wait or a host that waits is reported") {
  const Plan plan = planned();
  const std::pair<const char*, std::function<void(DeviceTable&)>> flaws[] = {
      {"events are not recorded", [](DeviceTable& t) { t.record = [](void*, void*) { return 0; }; }},
      {"queues do not wait", [](DeviceTable& t) { t.wait = [](void*, void*) { return 0; }; }},
      {"the host does not wait", [](DeviceTable& t) { t.query = [](void*) { return 1; }; }}};
  for (const auto& flaw : flaws) {
    CAPTURE(std::string(flaw.first));
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      CAPTURE(seed);
      DeviceTable table{};
      CHECK(test::has(error_of(plan, flawed(seed, table, flaw.second)), "the simulated device has found a race"));
    }
  }
}

// ---- Captured stretches ----

int captures, replays, launched;

/// Devices that count.
DeviceLibrary counting(DeviceTable& table) {
  captures = replays = launched = 0;
  static const DeviceTable there = *simulated_devices(1).table;
  return flawed(1, table, [](DeviceTable& t) {
    t.begin_capture = [](void* queue) { return ++captures, there.begin_capture(queue); };
    t.replay = [](void* queue, void* graph) { return ++replays, there.replay(queue, graph); };
    t.launch = [](void* queue, const DeviceLaunch* launch) { return ++launched, there.launch(queue, launch); };
  });
}

TEST_CASE("a stretch is given one by one the first time, then captured, and replayed from then on") {
  const Plan plan = planned();
  const PlanClass& c = plan.classes[0];
  const Range step = c.regions[1].instructions;
  const auto in_step = static_cast<int>(
      std::ranges::count_if(c.stretches, [&](const Range& s) { return s.first < step.first + step.count; }));
  const auto all = static_cast<int>(c.stretches.size());
  REQUIRE(in_step > 0);
  REQUIRE(all == in_step + 1);  // and the loop's body, which runs three times in a step
  DeviceTable table{};
  REQUIRE(error_of(plan, counting(table)) == "");
  CHECK(captures == all);
  CHECK(replays == in_step * (kSteps - 1) + 3 * kSteps - 1);
  const int launches_of_captured = launched;
  REQUIRE(error_of(plan, counting(table), nullptr, [](ExecutorOptions& o) { o.run.sync_gpu = true; }) == "");
  CHECK(captures + replays == 0);
  CHECK(launched > launches_of_captured);
  REQUIRE(error_of(plan, counting(table), nullptr, [](ExecutorOptions& o) { o.run.check_numerics = true; }) == "");
  CHECK(captures + replays == 0);
  Trace trace(0, 1);
  REQUIRE(error_of(plan, counting(table), nullptr, [&](ExecutorOptions& o) { o.trace = &trace; }) == "");
  CHECK(captures + replays == 0);
}

TEST_CASE("what is in replayed stretches is counted as what is given one by one") {
  Model model;
  Session session(model.graph, Cluster::connect(ClusterOptions{.tasks = 1, .jobs = "", .simulated = 1}));
  RunRequest request;
  for (const ValueId fetch : model.signature.fetches) request.fetches.emplace_back(&model.graph, fetch);
  request.feeds = {{"x", Tensor(DType::float32, {kElements})}, {"y", Tensor(DType::float32, {kElements})}};
  static_cast<void>(session.run(request));
  const DeviceStats first = session.stats().tasks[0].devices.at(0);
  request.steps = kSteps - 1;
  static_cast<void>(session.run(request));
  const Plan& plan = session.plan(request).plan;
  const auto is_captured_copy = [&](const Range& stretch) {
    const auto begin = plan.classes[0].instructions.begin() + stretch.first;
    return std::any_of(begin, begin + stretch.count, [](const Instruction& i) { return i.what == Opcode::copy; });
  };
  REQUIRE(std::ranges::any_of(plan.classes[0].stretches, is_captured_copy));
  const TaskStats task = session.stats().tasks[0];
  CHECK(task.measured == task.planned);
  REQUIRE(task.devices.size() == 1);
  const DeviceStats& gpu = task.devices[0];
  CHECK(gpu.device == "gpu:0");
  CHECK(gpu.measured == gpu.planned);
  CHECK(gpu.measured.replays > first.measured.replays);
  CHECK(gpu.measured.launches > 3);
  CHECK(gpu.measured.bytes_in >= 2 * kElements * 4);
  CHECK(gpu.measured.bytes_out >= 2 * kElements * 4);
  CHECK(gpu.measured.copies_within > 0);
  CHECK(task.measured.copies == gpu.measured.copies_in + gpu.measured.copies_out + gpu.measured.copies_within);
  DeviceWork one_by_one = first.measured;
  one_by_one.replays = gpu.measured.replays;
  CHECK(one_by_one == gpu.measured);
  CHECK(gpu.peak_bytes > 0);
  CHECK(gpu.peak_bytes <= gpu.planned_peak_bytes);
  CHECK(gpu.peak_bytes < task.peak_bytes);  // which has the host's
}

TEST_CASE("a plan that does not fit a device is refused before it runs, with the largest values") {
  Topology topology = Topology::local(1);
  topology.tasks[0].gpus = 1;
  topology.tasks[0].gpu_memory_bytes = 1024;
  Graph g;
  const Value x = g.input("x", DType::float32, {1024});
  Signature signature;
  signature.feeds = {{x.id(), 0, {1024}}};
  signature.fetches = {tanh(x).named("large").id()};
  PlanOptions options;
  options.default_device = DeviceKind::gpu;
  const std::string reason = refusal(make_plan(g, signature, topology, kernels(), options).plan);
  CHECK(test::has(reason, "gpu:0 of task 0 would need"));
  CHECK(test::has(reason, "'large' float32[1024]: 4 KiB"));
}

// ---- Traces ----

TEST_CASE("a trace has when a device did what its queues were given: after that, in order, and in the step") {
  constexpr double kRounding = 0.01;
  const Plan plan = planned();
  for (const std::uint64_t seed : {1, 2, 3}) {
    CAPTURE(seed);
    Trace trace(0, 1);
    REQUIRE(error_of(plan, simulated_devices(seed), nullptr, [&](ExecutorOptions& o) { o.trace = &trace; }) == "");
    auto rows = rows_of(trace);
    std::map<std::string, std::vector<double>> given, begun;
    for (const Box& box : rows["thread 0"]) {
      if (box.category == "launch") given[box.name].push_back(box.begin);
      CHECK(box.category != "kernel");  // all are the device's
    }
    for (const char* const queue : {"gpu:0.compute", "gpu:0.in", "gpu:0.out"}) {
      CAPTURE(queue);
      REQUIRE(!rows[queue].empty());
      std::ranges::sort(rows[queue], {}, &Box::begin);  // the boxes of a loop come before earlier work
      double done = rows["steps"].front().begin;
      for (const Box& box : rows[queue]) {
        begun["launch " + box.name].push_back(box.begin);
        CHECK(box.begin >= done - kRounding);
        CHECK(box.end >= box.begin);
        done = box.end;
      }
      CHECK(done <= rows["steps"].back().end + kRounding);
    }
    REQUIRE(given.size() == begun.size());
    for (auto& begun_of : begun) {
      const std::string& name = begun_of.first;
      std::vector<double>& times = begun_of.second;
      CAPTURE(name);
      std::ranges::sort(times);
      REQUIRE(times.size() == given[name].size());
      for (std::size_t i = 0; i < times.size(); ++i) CHECK(times[i] >= given[name][i] - kRounding);
    }
  }
}

}  // namespace
}  // namespace ferry

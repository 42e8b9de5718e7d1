// Collectives that the library of GPUs carries out, on simulated devices. They give the bits that hosts give, and their
// traffic is counted. The verifier refuses flaws put into a plan, and the devices report them when the plan is run
// anyway.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/transport.hpp"
#include "executor/job/job_state.hpp"
#include "executor/run/gpu_groups.hpp"
#include "executor/run/task_executor.hpp"
#include "executor/session/session.hpp"
#include "kernels/device.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/op_set.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"
#include "tests/executor/outcome.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/has.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kSeeds = 20;
constexpr int kTasks = 2;

const KernelsOfDevices& kernels() {
  static const KernelsOfDevices all(cpu_kernels(), simulated_devices(1));
  return all;
}

/// Two sums over the tasks of what their GPUs with these numbers have.
struct Model {
  Graph graph;
  Signature signature;

  explicit Model(int second = 0) {
    const Value x = graph.input("x", DType::float32, {4, 6}), y = graph.input("y", DType::float32, {4, 9});
    const auto on = [&](int gpu) { return graph.on(graph.mesh("dp", "/task:*/gpu:" + std::to_string(gpu))); };
    const auto part = [&](const Value& of, int gpu) {
      const auto here = on(gpu);
      return identity(of).laid({split(0)});
    };
    const auto total = [&](const Value& of, int gpu, const char* name) {
      const auto here = on(gpu);
      return identity(sum(of * 2.0F, {0})).laid({replicated()}).named(name);
    };
    const Value of_x = part(x, 0), of_y = part(y, second);  // which the hosts send first
    const Value a = total(of_x, 0, "a"), b = total(of_y, second, "b");
    signature.feeds = {{x.id(), 0, {4, 6}}, {y.id(), 0, {4, 9}}};
    signature.fetches = {a.id(), b.id()};
  }
};

/// `folded`: GPUs fold its sums, in the order of hosts.
Plan planned(int second = 0, bool folded = false) {
  Topology topology = Topology::local(kTasks);
  for (TaskInfo& task : topology.tasks) {
    task.gpus = 2;
    task.gpu_group = 0;
  }
  PlanOptions options;
  options.default_device = DeviceKind::cpu;
  options.check_passes = true;
  options.bucket_bytes = 0;
  options.one_host = folded;
  const Model model(second);
  return make_plan(model.graph, model.signature, topology, kernels(), options).plan;
}

std::string refusal(const Plan& plan) {
  return verify(plan, {nullptr, &kernels()}).reason;
}

/// Runs the plan, unverified, for two steps on all its tasks; returns the text of the first error, "" for none.
std::string error_of(const Plan& plan, std::uint64_t seed) {
  const DeviceLibrary library = simulated_devices(seed);
  const auto transports = inproc_transports(kTasks);
  std::mutex mutex;
  std::string first;
  std::vector<std::thread> tasks;
  for (int task = 0; task < kTasks; ++task)
    tasks.emplace_back([&, task] {
      Transport& transport = *transports[task];
      try {
        const Devices devices(library, {.task = task});
        GpuGroups groups;
        groups.join(plan, task, &devices, transport, Deadline(system_clock(), std::chrono::seconds(60)));
        Workers workers({.threads = 1, .crowded = true, .on_start = {}});
        TaskExecutor executor(plan, task, transport, workers, {},
                              {.devices = &devices, .device_kernels = kernels().devices(), .groups = &groups});
        std::vector<Tensor> feeds(2), got(plan.fetches.size());
        if (task == 0) feeds = {Tensor(DType::float32, {4, 6}), Tensor(DType::float32, {4, 9})};
        for (std::int64_t step = 0; step < 2; ++step) executor.step(step, feeds, got);
        transport.close();
      } catch (const Error& error) {
        const std::lock_guard guard(mutex);
        if (first.empty()) first = error.text();
        transport.abort({.task = task, .code = error.code(), .text = std::string(error.text())});
      }
    });
  for (std::thread& task : tasks) task.join();
  return first;
}

// ---- Flaws ----

/// Gives each task its own class if the two tasks share a class.
void tell_apart(Plan& plan) {
  if (plan.classes.size() > 1) return;
  plan.classes.push_back(plan.classes[0]);
  plan.class_of = {0, 1};
}

/// The places in the list of a task's class of the collectives of its step that GPUs carry out.
std::vector<std::uint32_t> collectives(const PlanClass& role) {
  std::vector<std::uint32_t> found;
  const Range step = role.regions[1].instructions;
  for (const std::uint32_t i : step)
    if (role.instructions[i].what == Opcode::collective && role.on_queue(role.instructions[i])) found.push_back(i);
  return found;
}

/// The collectives that are sums of the model. The other collectives move feeds.
std::vector<std::uint32_t> sums(const Plan& plan, const PlanClass& role) {
  std::vector<std::uint32_t> found = collectives(role);
  std::erase_if(found,
                [&](std::uint32_t i) { return plan.collectives[role.instructions[i].target].reduce == Reduce::none; });
  return found;
}

/// Lets one task come to its second sum before its first.
void cross(Plan& plan) {
  tell_apart(plan);
  PlanClass& role = plan.classes[1];
  const std::vector<std::uint32_t> at = sums(plan, role);
  REQUIRE(at.size() == 2);
  // Moves the first sum to after the second one. There, the inputs of both exist.
  std::vector<Instruction> moved(role.instructions.begin() + at[0], role.instructions.begin() + at[0] + 2);
  const auto first = role.instructions.begin() + at[0];
  std::rotate(first, first + 2, role.instructions.begin() + at[1] + 2);
}

struct Flaw {
  const char* what;
  int second;  ///< the GPU of the second sum
  void (*plant)(Plan&);
  const char* refused;
  const char* reported;  ///< "": no device sees it
  bool folded = false;
};

constexpr Flaw kFlaws[] = {
    {"a task comes to its sums in another order", 0, cross, "the collectives come in different orders",
     "members of a group of GPUs come to different collectives"},
    {"a task comes to the sums of its two GPUs in another order", 1, cross, "the collectives come in different orders",
     "GPUs are given their collectives in different orders"},
    {"a collective does not wait for what it adds", 0,
     [](Plan& plan) {
       for (PlanClass& role : plan.classes) role.instructions[sums(plan, role)[0]].waits = {};
     },
     "race for buffer", "reads memory that queue"},
    {"what uses a sum does not wait for it", 0,
     [](Plan& plan) {
       for (PlanClass& role : plan.classes) {
         const std::uint32_t queue = role.instructions[sums(plan, role)[0]].strand;
         for (Instruction& i : role.instructions)
           if (i.strand != queue)
             for (const std::uint32_t w : i.waits)
               if (role.waits[w].strand == queue && i.what != Opcode::join) role.waits[w].count = 0;
       }
     },
     "race for buffer", "memory that queue"},
    {"a GPU has two queues for collectives", 0,
     [](Plan& plan) {
       for (PlanClass& role : plan.classes) {
         const std::uint32_t at = sums(plan, role)[1];
         const std::uint32_t old = role.instructions[at].strand;
         const auto fresh = static_cast<std::uint16_t>(role.strands());
         role.queues.push_back(role.queues[old - role.threads]);
         for (const std::uint32_t i : {at, at + 1}) role.instructions[i].strand = fresh;
         for (Wait& wait : role.waits)
           if (wait.strand == old && wait.count > 2) wait = {fresh, wait.count - 2};
       }
     },
     "a device has two queues for collectives", "that nothing orders"},
    {"the host carries out what GPUs are to add", 0,
     [](Plan& plan) {
       for (PlanClass& role : plan.classes) {
         const std::uint32_t at = sums(plan, role)[0];
         for (const std::uint32_t i : {at, at + 1}) role.instructions[i].strand = 0;
       }
     },
     "runs on the host, and", ""},
    {"GPUs that do not work together", 0, [](Plan& plan) { plan.topology.tasks[1].gpu_group = 1; },
     "the GPUs of tasks 0 and 1 do not work together", ""},
    {"something comes between a collective and its wait", 0,
     [](Plan& plan) {
       for (PlanClass& role : plan.classes) {
         const std::uint32_t at = sums(plan, role)[0];
         std::swap(role.instructions[at + 1], role.instructions[at + 2]);
       }
     },
     "is not waited for at once", ""},
    {"a maximum of floats, of which each library has its own", 0,
     [](Plan& plan) {
       for (Collective& collective : plan.collectives)
         if (collective.reduce == Reduce::sum) collective.reduce = Reduce::max;
     },
     "is a partial sum", ""},
    {"a library that adds, and has slots", 0,
     [](Plan& plan) {
       for (Schedule& schedule : plan.schedules)
         if (schedule.kind == CollectiveKind::all_reduce) schedule.slots = 1;
     },
     "and it has slots", ""},
    {"GPUs fold before messages have come", 0,
     [](Plan& plan) {
       for (Schedule& schedule : plan.schedules)
         std::erase_if(schedule.steps, [](const ScheduleStep& step) { return step.kind == ScheduleStep::Kind::wait; });
     },
     "uses a contribution that is not there yet", "", true},
    {"GPUs fold in another order than hosts", 0,
     [](Plan& plan) {
       for (Schedule& schedule : plan.schedules)
         for (ScheduleStep& step : schedule.steps)
           if (schedule.via == Via::library &&
               (step.kind == ScheduleStep::Kind::copy || step.kind == ScheduleStep::Kind::fold))
             step.peer.value = 1 - step.peer.value;
     },
     "it has other steps than a direct or one-shot one, which GPUs fold", "", true},
    {"what comes lies where nobody has room for it", 0,
     [](Plan& plan) {
       for (PlanClass& role : plan.classes)
         for (const std::uint32_t at : sums(plan, role))
           for (const std::uint32_t i : {at, at + 1}) role.instructions[i].scratch = kNone;
     },
     "its staging slots need", "", true},
    {"what comes lies in the host's memory", 0,
     [](Plan& plan) {
       for (PlanClass& role : plan.classes) {
         const auto host = static_cast<std::uint32_t>(
             std::ranges::find(role.devices, DeviceKind::cpu, &PlanDevice::kind) - role.devices.begin());
         role.buffers[role.instructions[sums(plan, role)[0]].scratch].device = host;
       }
     },
     "runs on a queue of gpu:0, and a scratch buffer is on cpu:0", "is given other memory", true},
    {"folded sums do not wait for what they add", 0,
     [](Plan& plan) {
       for (PlanClass& role : plan.classes) role.instructions[sums(plan, role)[0]].waits = {};
     },
     "race for buffer", "reads memory that queue", true}};

TEST_CASE("collectives of GPUs are planned, verified, and run whatever order is drawn") {
  for (const int second : {0, 1})
    for (const bool folded : {false, true}) {
      const Plan plan = planned(second, folded);
      for (const PlanClass& role : plan.classes) CHECK(sums(plan, role).size() == 2);
      CHECK(refusal(plan) == "");
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) CHECK(error_of(plan, seed) == "");
    }
}

TEST_CASE("flaws of collectives of GPUs are refused, and reported when they are run all the same") {
  for (const Flaw& flaw : kFlaws) {
    CAPTURE(std::string(flaw.what));
    Plan plan = planned(flaw.second, flaw.folded);
    flaw.plant(plan);
    const std::string reason = refusal(plan);
    CHECK(reason != "");
    CHECK(test::has(reason, flaw.refused));
    for (std::uint64_t seed = 1; seed <= kSeeds && *flaw.reported != '\0'; ++seed) {
      CAPTURE(seed);
      CHECK(test::has(error_of(plan, seed), flaw.reported));
    }
  }
}

// ---- Sessions ----

/// Runs a graph that uses every kind of collective on `tasks` tasks.
std::vector<Tensor> run(int tasks, std::optional<std::uint64_t> simulated, RunStats* stats = nullptr) {
  Graph g;
  const Value x = g.input("x", DType::float32, {6, 5}), w = g.input("w", DType::float32, {5, 6});
  Values made;
  {
    const auto all = g.on(g.mesh("dp"));
    const Value rows = identity(x).laid({split(0)});
    made.push_back(identity(exp(rows)).laid({replicated()}).named("gathered"));
    made.push_back(identity(sum(rows * 0.3F, {0})).laid({replicated()}).named("reduced"));
    made.push_back(identity(matmul(identity(w).laid({split(1)}), rows)).laid({split(0)}).named("scattered"));
    made.push_back(exp(identity(rows * 0.1F).laid({split(1)})).named("exchanged"));
  }
  {
    const auto last = g.device("/task:" + std::to_string(tasks - 1));
    made.push_back((sum(made[0] * 3.0F, {1}) + 1.0F).named("moved"));
  }
  std::vector<float> numbers(30);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1F * static_cast<float>(i) - 1;
  Session session(g, Cluster::connect(ClusterOptions{.tasks = tasks, .jobs = "", .simulated = simulated}));
  std::vector<Tensor> got =
      session.run(made, {{"x", Tensor::of<float>({6, 5}, numbers)}, {"w", Tensor::of<float>({5, 6}, numbers)}});
  if (stats != nullptr) *stats = session.stats();
  return got;
}

TEST_CASE("collectives of GPUs give the bits of hosts, and what they are given is counted as planned") {
  for (const int tasks : {1, 2, 3, 4}) {
    CAPTURE(tasks);
    const std::vector<Tensor> wanted = run(tasks, std::nullopt);
    for (const std::uint64_t seed : {1, 2, 3}) {
      RunStats stats;
      const std::vector<Tensor> got = run(tasks, seed, &stats);
      REQUIRE(got.size() == wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].same_bits(wanted[i]));
      std::int64_t given = 0;
      for (const TaskStats& task : stats.tasks) {
        CHECK(task.measured == task.planned);
        given += task.measured.collective_bytes;
        for (const DeviceStats& gpu : task.devices) CHECK(gpu.measured.collectives == gpu.planned.collectives);
        CHECK((task.devices.at(0).measured.collectives > 0) == (task.measured.collective_bytes > 0));
      }
      CHECK((given > 0) == (tasks > 1));
    }
  }
}

/// Runs a graph on GPUs with sums that the library cannot do: of 16-bit integers, largest and smallest floats, and in
/// parts of different sizes; and with some that it can.
std::vector<Tensor> folded(ClusterOptions options) {
  Graph g;
  const Value x = g.input("x", DType::float32, {7, 5});
  Values made;
  {
    const auto all = g.on(g.mesh("dp"));
    const Value rows = identity(x).laid({split(0)});
    const auto to_all = [&](const Value& value, const char* name) {
      made.push_back(identity(value).laid({replicated()}).named(name));
    };
    to_all(sum(cast(rows * 1000.0F, DType::int16), {0}), "int16");
    to_all(max(cast(rows * 1000.0F, DType::uint16), {0}), "uint16");
    to_all(sum(cast(rows, DType::float16), {0}), "half");
    to_all(max(rows, {0}), "largest");
    to_all(min(rows, {0}), "smallest");
    to_all(sum(rows * 0.3F, {0}), "float");
    to_all(sum(rows * 0.7F, {0, 1}), "scalar");
    made.push_back(identity(sum(rows * 0.1F, {0})).laid({split(0)}).named("parts"));
  }
  {
    const auto first = g.device("/task:0");
    made.push_back(identity(sum(made[5] * 3.0F, {0})).named("used"));
  }
  options.jobs = "";
  Session session(g, Cluster::connect(std::move(options)));
  test::Dice dice(1);
  std::vector<Tensor> got = session.run(made, {{"x", test::random_tensor(DType::float32, {7, 5}, dice)}});
  for (const TaskStats& task : session.stats().tasks) CHECK(task.measured == task.planned);
  return got;
}

void check_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK_MESSAGE(got[i].same_bits(wanted[i]), i << ": " << got[i].str() << " is not " << wanted[i].str());
}

TEST_CASE("GPUs fold what their library does not add, with the bits of hosts") {
  for (const int tasks : {2, 3, 4}) {
    CAPTURE(tasks);
    const std::vector<Tensor> wanted = folded({.tasks = tasks});
    for (const std::uint64_t seed : {1, 2, 3}) check_bits(folded({.tasks = tasks, .simulated = seed}), wanted);
  }
}

TEST_CASE("with --invariant GPUs give the bits of one CPU task, however many tasks there are") {
  for (const int shards : {3, 4}) {
    const std::vector<Tensor> wanted = folded({.tasks = 1, .invariant = shards});
    for (int tasks = 1; tasks <= shards; ++tasks)
      check_bits(folded({.tasks = tasks, .invariant = shards, .simulated = static_cast<std::uint64_t>(tasks)}), wanted);
  }
}

TEST_CASE("a plan for GPUs that work together is refused where they do not, with the reason") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = kTasks, .jobs = "", .simulated = 1});
  for (TaskInfo& task : cluster.state().topology.tasks) {
    task.gpu_group = -1;
    task.no_gpu_group = "it shares its GPU with another task";
  }
  const Error error = test::error_of([&] { Session session(planned(), cluster); });
  CHECK(error.code() == Code::plan);
  CHECK(test::says(error, "that of task 0 does not here: it shares its GPU with another task"));
}

}  // namespace
}  // namespace ferry

// fuzz_plans FIRST COUNT: changes plans at random, like a forger who also writes the right hash, and runs the plans
// that the reader and the verifier accept, each in a child process. Plans run over tasks that share memory, or on
// simulated devices, if they are made for these. A run must end by itself, with its results or with an Error that is
// not ferry's fault. Wrong are: a death by a signal, Code::bug, tasks that wait for one another, a run without an end,
// and other results than before where only facts were changed that say how these come about. Tasks that wait for one
// another and a run without an end are allowed of plans with loops or branches: from a plan nobody can tell whether a
// loop ends, or whether all tasks read equal conditions. It starts from plans of the op cases, of random graphs on
// meshes with loops and branches, and of random graphs.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/files/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "comm/backends.hpp"
#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "placement/planner.hpp"
#include "plan/file/plan_file.hpp"
#include "plan/requirements.hpp"
#include "plan/verify/verify.hpp"
#include "tests/fuzz/mutate_plan.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry::test {
namespace {

constexpr std::chrono::milliseconds kDeadline{10000};  // tasks that wait longer count as stalled
constexpr int kPatience = 30000;                       // milliseconds that a run may take
constexpr std::uint64_t kMemory = 1 << 28;             // bytes that a task may need by its plan
constexpr std::int64_t kSteps = 3;

struct Sample {
  std::string name;
  Plan plan;
};

/// The kernels of the CPU and of simulated devices.
const KernelLookup& kernels() {
  static const KernelsOfDevices all(cpu_kernels(), simulated_devices(1));
  return all;
}

Plan plan_of(const Graph& g, const std::vector<Value>& fetches, const std::vector<Value>& targets,
             const Topology& topology, std::int64_t fuse_from, bool one_host = false) {
  Signature signature;
  for (const Value& fetch : fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : targets) signature.targets.push_back(target.op().id());
  std::sort(signature.targets.begin(), signature.targets.end());
  for (OpId op = 0; op < g.size(); ++op)
    if (&g.op(op).def() == &kInput)
      signature.feeds.push_back({g.op(op).output(0), 0, g.type(g.op(op).output(0)).shape.sizes()});
  PlanOptions options;
  options.fuse_from = fuse_from;
  options.one_host = one_host;
  if (topology.tasks[0].gpus > 0) options.default_device = DeviceKind::gpu;
  return make_plan(g, signature, topology, kernels(), options).plan;
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const Case& which : op_cases()) {
    const DTypeSet known = dtypes_of(which);
    for (const DType dtype : {DType::float32, DType::int64, DType::boolean, DType::float64}) {
      if (!known.has(dtype)) continue;
      const CaseGraph made(which, inputs_for(which, 0, dtype));
      all.push_back({std::string(which.op), plan_of(made.graph, made.y, {}, Topology::local(1), 0)});
      break;
    }
  }
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    const int tasks = 1 + static_cast<int>(seed % 4);
    const std::int64_t fuse_from = seed % 3 == 0 ? 2 : 0;
    if (seed % 4 == 3) {
      const RandomGraph made = random_graph(seed, 20, tasks);
      Topology topology = Topology::local(tasks, 1 + static_cast<int>(seed / 4 % 2));
      all.push_back({"random graph", plan_of(*made.graph, made.fetches, made.targets, topology, fuse_from)});
    } else {
      RandomMeshGraph made = random_mesh_graph(seed, {.tasks = tasks,
                                                      .hosts = 1 + static_cast<int>(seed / 4 % 2),
                                                      .shares_memory = seed % 5 < 2,
                                                      .control = seed % 2 == 0});
      for (TaskInfo& task : made.topology.tasks) {
        task.threads = 1 + static_cast<int>(seed / 8 % 2);
        task.gpus = seed % 5 == 2 || seed % 7 == 0 ? 2 : 0;
        // GPUs of processes that mpirun has started do not work together where they are simulated.
        task.gpu_group = task.gpus > 0 && task.memory_group < 0 && seed % 2 == 0 ? 0 : -1;
      }
      const bool one_host = seed % 8 == 2;  // then GPUs fold sums themselves
      all.push_back(
          {"random mesh", plan_of(*made.graph, made.fetches, made.targets, made.topology, fuse_from, one_host)});
    }
  }
  return all;
}

/// Small numbers, positive and negative.
Tensor some_tensor(Type type, Dice& dice) {
  constexpr std::int64_t kMost = 1 << 24;
  if (type.bytes() > kMost) throw Error(Code::usage, "too large to be fed: " + type.str());
  Tensor tensor(type.dtype, type.shape.sizes());
  const std::span<std::byte> bytes = tensor.mutable_bytes();
  if (type.dtype == DType::float32)
    for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(dice.below(9) - 4) / 2;
  else if (type.dtype == DType::float64)
    for (double& x : tensor.mutable_data<double>()) x = static_cast<double>(dice.below(9) - 4) / 2;
  else
    for (std::size_t i = 0; i < bytes.size(); i += size_of(type.dtype)) bytes[i] = std::byte{1};
  return tensor;
}

bool shares_memory(const Plan& plan) {
  return std::ranges::any_of(plan.topology.tasks, [](const TaskInfo& task) { return task.memory_group >= 0; });
}

/// Runs the plan with random feeds and variables. Gives a hash of its results, or throws what the run throws.
std::uint64_t run(Plan plan, std::uint64_t seed) {
  Dice dice(seed);
  ClusterOptions options;
  if (!shares_memory(plan)) {  // else it is one of the processes that mpirun has started
    options.tasks = plan.topology.size();
    options.transport = "inproc";
  }
  if (std::ranges::any_of(plan.topology.tasks, [](const TaskInfo& task) { return task.gpus > 0; }))
    options.simulated = seed;
  options.memory_bytes = kMemory;
  options.deadline = kDeadline;
  options.threads = 1;
  for (const PlanClass& c : plan.classes) options.threads = std::max(options.threads, static_cast<int>(c.threads));
  TensorMap feeds, values;
  for (const PlanPort& port : plan.feeds)
    feeds[std::string(plan.string(port.name))] =
        some_tensor({port.dtype, Shape(std::span<const std::int64_t>(port.sizes))}, dice);
  for (const auto& [name, type] : variables_of(plan)) values[name] = some_tensor(type, dice);
  const Cluster job = Cluster::connect(options);
  Session session(std::move(plan), job);
  session.restore(values);
  Hasher hasher;
  const auto add = [&](const Tensor& tensor) {
    if (tensor.defined()) hasher.add(tensor.bytes());  // others are on another task
  };
  for (const Tensor& tensor : session.run(RunRequest{.feeds = feeds, .steps = kSteps})) add(tensor);
  for (const auto& [name, tensor] : session.variables()) add(tensor);
  session.close();
  return hasher.digest();
}

constexpr const char* kException = "an exception: ";

std::string code_text(Code code) {
  return "code " + std::to_string(static_cast<int>(code)) + ": ";
}

/// The exit code of the child: 0 if the plan ran, 1 for a fault, 2 for allowed errors, 3 if tasks waited for one
/// another. Writes the reason to `out`.
int judge(const Plan& plan, std::uint64_t seed, int out) {
  const auto say = [&](const std::string& text) {
    static_cast<void>(!write(out, text.data(), std::min<std::size_t>(text.size(), 2000)));
  };
  try {
    const std::uint64_t results = run(plan, seed);
    if (!shares_memory(plan) || mpi_launch()->rank == 0) say(std::to_string(results));
    return 0;
  } catch (const Error& error) {
    say(code_text(error.code()) + error.text());
    if (error.code() == Code::stalled) return 3;
    // In a job of several processes, another process may have ended with the original error.
    return error.code() == Code::bug || (error.code() == Code::peer_lost && !shares_memory(plan)) ? 1 : 2;
  } catch (const std::exception& error) {
    say(std::string(kException) + error.what());
  }
  return 1;
}

enum class Outcome { unread, refused, ran, failed, endless, wrong };

bool has_conditions(const Plan& plan) {
  return std::any_of(plan.classes.begin(), plan.classes.end(), [](const PlanClass& c) {
    return std::any_of(c.instructions.begin(), c.instructions.end(),
                       [](const Instruction& i) { return i.what == Opcode::loop || i.what == Opcode::branch; });
  });
}

/// Becomes a job of processes, which do share memory: of this program, with --run and the plan's file.
[[noreturn]] void run_in_processes(const Plan& plan, const std::string& file, std::uint64_t seed, int out) {
  dup2(out, STDOUT_FILENO);
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string tasks = std::to_string(plan.topology.size()), number = std::to_string(seed);
  execlp("mpirun", "mpirun", "--oversubscribe", "--bind-to", "none", "-np", tasks.c_str(), self.c_str(), "--run",
         file.c_str(), number.c_str(), nullptr);
  _exit(1);
}

/// Runs the plan in a child process; `said` gets its output.
Outcome outcome_of(const Plan& plan, std::uint64_t seed, std::string& said) {
  static const TempFolder folder;
  const std::string file = folder / "run.plan";
  if (shares_memory(plan)) local_files().write(file, encode_plan(plan));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(Code::resource, "pipe");
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDERR_FILENO);
    if (shares_memory(plan)) run_in_processes(plan, file, seed, ends[1]);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take terabytes of addresses
    constexpr rlim_t kSpace = rlim_t{8} << 30;
    const rlimit space{kSpace, kSpace};
    setrlimit(RLIMIT_AS, &space);
#endif
    dup2(nothing, STDOUT_FILENO);
    _exit(judge(plan, seed, ends[1]));
  }
  close(ends[1]);
  // The end of the child closes the pipe.
  bool in_time = true;
  for (;;) {
    pollfd waiting{ends[0], POLLIN, 0};
    in_time = poll(&waiting, 1, kPatience) > 0;
    char text[2048];
    const ssize_t got = in_time ? read(ends[0], text, sizeof text) : 0;
    if (got <= 0) break;
    said.append(text, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (!in_time) said = "no end";
  if (!in_time || (WIFEXITED(status) && WEXITSTATUS(status) == 3))
    return has_conditions(plan) ? Outcome::endless : Outcome::wrong;
  if (WIFSIGNALED(status)) said += std::string("died: ") + strsignal(WTERMSIG(status));
  // mpirun ends as the first task did that it misses, and with 128 and the signal's number if that was killed.
  const bool is_bug =
      said.find(code_text(Code::bug)) != std::string::npos || said.find(kException) != std::string::npos;
  if (is_bug || !WIFEXITED(status) || WEXITSTATUS(status) == 1 || WEXITSTATUS(status) > 128) return Outcome::wrong;
  return WEXITSTATUS(status) == 0 ? Outcome::ran : Outcome::failed;
}

Outcome judged(const Plan& plan, std::uint64_t seed, std::string& said) {
  Plan read;
  Verdict verdict;
  try {
    read = decode_plan(encode_plan(plan), "fuzz.plan");
    verdict = verify(read, {nullptr, &kernels()});
  } catch (const Error& error) {
    said = error.text();
    return error.code() == Code::file || error.code() == Code::resource ? Outcome::unread : Outcome::wrong;
  } catch (const std::exception& error) {
    said = error.what();
    return Outcome::wrong;
  }
  said = verdict.reason;
  return verdict.pass ? outcome_of(read, seed, said) : Outcome::refused;
}

/// All changes are of facts that say how results come about, and not which.
bool says_only_how(const std::string& changed) {
  constexpr std::string_view kHow[] = {"whether a channel is put",
                                       "whether a schedule is in place",
                                       "how members reach each other",
                                       "a strand",
                                       "a wait",
                                       "waits",
                                       "a buffer's place",
                                       "offset",
                                       "arena bytes",
                                       "in_place",
                                       "a scratch buffer",
                                       "a channel's slots",
                                       "threads",
                                       "a queue",
                                       "a stretch",
                                       "two instructions exchanged"};
  for (const std::string_view change : split(changed, ','))
    if (std::ranges::find(kHow, trimmed(change)) == std::end(kHow)) return false;
  return true;
}

int fuzz(std::uint64_t first, std::uint64_t count) {
  const std::vector<Sample> all = samples();
  std::map<Outcome, std::uint64_t> counts;
  for (const Sample& sample : all) {
    std::string said;
    if (judged(sample.plan, 0, said) == Outcome::ran) continue;
    ++counts[Outcome::wrong];
    std::printf("unchanged %s: %s\n", sample.name.c_str(), said.c_str());
  }
  std::uint64_t compared = 0;
  const bool tell = std::getenv("FERRY_FUZZ_TELL") != nullptr;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Dice dice(seed);
    const Sample& sample = dice.of(all);
    Plan plan = sample.plan;
    const std::string changed = mutate(plan, dice);
    std::string said;
    Outcome outcome = judged(plan, seed, said);
    if (outcome == Outcome::ran && says_only_how(changed)) {
      std::string before;
      if (judged(sample.plan, seed, before) == Outcome::ran) {
        ++compared;
        if (before != said) {
          outcome = Outcome::wrong;
          said = "other results";
        }
      }
    }
    ++counts[outcome];
    if (outcome != Outcome::wrong && outcome != Outcome::endless && !tell) continue;
    std::printf("seed %llu, %s, %s: %s\n", static_cast<unsigned long long>(seed), sample.name.c_str(), changed.c_str(),
                said.c_str());
    std::fflush(stdout);
  }
  std::printf(
      "%llu plans: %llu not well-formed, %llu refused by the verifier, %llu ran, %llu ended with an error, %llu "
      "had no end by their conditions, %llu wrong; %llu results compared with those before\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(counts[Outcome::unread]),
      static_cast<unsigned long long>(counts[Outcome::refused]), static_cast<unsigned long long>(counts[Outcome::ran]),
      static_cast<unsigned long long>(counts[Outcome::failed]),
      static_cast<unsigned long long>(counts[Outcome::endless]),
      static_cast<unsigned long long>(counts[Outcome::wrong]), static_cast<unsigned long long>(compared));
  return counts[Outcome::wrong] == 0 && counts[Outcome::ran] > 0 && counts[Outcome::refused] > 0 && compared > 0 ? 0
                                                                                                                 : 1;
}

}  // namespace
}  // namespace ferry::test

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--run")
    return ferry::test::judge(ferry::read_plan(ferry::local_files(), argv[2]), std::strtoull(argv[3], nullptr, 10), 1);
  if (argc != 3) return std::fputs("usage: fuzz_plans FIRST COUNT\n", stderr), 2;
  try {
    return ferry::test::fuzz(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
  } catch (const ferry::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

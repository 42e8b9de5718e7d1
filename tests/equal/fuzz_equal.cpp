// fuzz_equal FIRST COUNT: makes plans of random graphs mean something else (changes.hpp), or changes any of their
// fields (tests/fuzz/mutate_plan.hpp). Whatever the verifier accepts and the proof finds equal runs, in a child
// process, and must give the results of the plan before. The numbers of the graphs are small integers then, so that no
// order of sums changes them. With FERRY_FUZZ_TELL, plans that the proof refuses run, too, with kInputs different
// inputs: it prints how many of them give the same results for all inputs, so that the refusal may have been without
// need.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "base/hash.hpp"
#include "executor/session/session.hpp"
#include "plan/file/plan_file.hpp"
#include "plan/requirements.hpp"
#include "tests/equal/changes.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/fuzz/mutate_plan.hpp"
#include "tests/support/mesh_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/random_plan.hpp"

namespace ferry::test {
namespace {

constexpr unsigned kPatience = 20;          // seconds that a run may take
constexpr std::uint64_t kInputs = 48;       // different inputs of plans that the proof refuses
constexpr std::uint64_t kMemory = 1 << 28;  // bytes that a task may need by its plan

struct Sample {
  std::unique_ptr<Graph> graph;
  Signature signature;
  Plan plan;
  std::vector<std::string> results;  // of the first inputs
};

/// Inputs number 0 are small integers, so that no order of sums changes a result. Other numbers also give large
/// integers, fractions, infinities and NaN.
Tensor numbers(const Type& type, Dice dice, std::uint64_t inputs) {
  constexpr double kSpecial[] = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), -0.0};
  const bool small = inputs % 4 == 0 || inputs % 4 == 3;
  Tensor tensor(type.dtype, type.shape.sizes());
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& x : tensor.mutable_data<T>()) {
      x = static_cast<T>(small ? dice.below(7) - 3 : dice.below(2001) - 1000);
      if constexpr (!std::is_integral_v<T>) {
        if (inputs % 4 == 2) x = static_cast<T>(static_cast<double>(x) / 1024);
        if (inputs % 4 == 3 && dice.one_in(6)) x = static_cast<T>(kSpecial[dice.below(4)]);
      }
    }
  });
  return tensor;
}

/// What a plan asks of the machine may be changed, too: then it cannot run, and nothing is known of its results.
bool cannot_run(const std::string& results) {
  return results == "error " + std::to_string(static_cast<int>(Code::plan)) ||
         results == "error " + std::to_string(static_cast<int>(Code::usage)) ||
         results == "error " + std::to_string(static_cast<int>(Code::resource));
}

/// The results of three steps, or the error with which they end. `inputs` is the number of the inputs. Variables get
/// other values after the first step.
std::string results_of(Plan plan, std::uint64_t inputs) try {
  const auto dice = [&](std::string_view name) { return Dice(hash64(name) + inputs); };
  ClusterOptions options{.tasks = plan.topology.size(), .threads = 1, .transport = "inproc"};
  options.memory_bytes = kMemory;
  options.deadline = std::chrono::milliseconds(5000);
  for (const PlanClass& c : plan.classes) options.threads = std::max(options.threads, static_cast<int>(c.threads));
  if (plan.topology.tasks[0].gpus > 0) options.simulated = 1;
  TensorMap feeds, values, later;
  for (const PlanPort& port : plan.feeds)
    feeds[std::string(plan.string(port.name))] =
        numbers({port.dtype, Shape(std::span<const std::int64_t>(port.sizes))}, dice(plan.string(port.name)), inputs);
  for (const auto& [name, type] : variables_of(plan)) {
    values[name] = numbers(type, dice(name), inputs);
    later[name] = numbers(type, dice(name + " later"), inputs);
  }
  const Cluster job = Cluster::connect(options);
  Session session(std::move(plan), job);
  session.restore(values);
  Hasher hasher;
  const auto add = [&](const Tensor& tensor) { hasher.add(tensor.type().str()).add(tensor.bytes()); };
  for (int step = 0; step < 3; ++step) {
    if (step == 1) session.restore(later);
    for (const Tensor& tensor : session.run(RunRequest{.feeds = feeds})) add(tensor);
  }
  for (const auto& [name, tensor] : session.variables()) {
    hasher.add(name);
    add(tensor);
  }
  session.close();
  return hasher.hex();
} catch (const Error& error) {
  return "error " + std::to_string(static_cast<int>(error.code()));
} catch (const std::exception& error) {
  return error.what();
}

/// The same in a child process, which may die.
std::string results_apart(const Plan& plan, std::uint64_t inputs) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(Code::resource, "pipe");
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(kPatience);
    const std::string text = results_of(plan, inputs);
    _exit(write(ends[1], text.data(), text.size()) > 0 ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char some[256];
  for (ssize_t got = read(ends[0], some, sizeof some); got > 0; got = read(ends[0], some, sizeof some))
    text.append(some, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? "died" : text;
}

/// Whether a changed plan gives the sample's results for all inputs.
bool gives_the_same(const Plan& plan, Sample& sample) {
  for (std::uint64_t inputs = 0; inputs < kInputs; ++inputs) {
    if (sample.results.size() == inputs) sample.results.push_back(results_apart(sample.plan, inputs));
    if (results_apart(plan, inputs) != sample.results[inputs]) return false;
  }
  return true;
}

std::vector<Sample> samples(std::uint64_t count) {
  std::vector<Sample> all;
  const auto add = [&](std::unique_ptr<Graph> graph, const std::vector<Value>& fetches,
                       const std::vector<Value>& targets, const Topology& topology, std::uint64_t seed) {
    Sample sample;
    sample.signature = signature_of(*graph, fetches, targets);
    PlanOptions options;
    options.fuse_from = seed % 2 == 0 ? 2 : PlanOptions().fuse_from;
    sample.plan = plan_for(*graph, sample.signature, topology, options);
    sample.graph = std::move(graph);
    sample.results.push_back(results_apart(sample.plan, 0));
    if (sample.results[0].starts_with("error")) return;
    all.push_back(std::move(sample));
  };
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    if (seed % 3 == 0) {
      MeshGraph made = mesh_graph(seed, 20 + static_cast<int>(seed % 30));
      if (!made.jobs.empty()) continue;
      const MeshGraph::Request request = made.requests[0];
      add(std::move(made.graph), request.fetches, request.targets, Topology::local(made.tasks), seed);
    } else if (seed % 3 == 1) {
      RandomMeshGraph made = random_mesh_graph(seed, {.ops = 14, .tasks = 1 + static_cast<int>(seed % 4)});
      add(std::move(made.graph), made.fetches, made.targets, made.topology, seed);
    } else {
      const int tasks = 1 + static_cast<int>(seed % 3);
      Topology topology = Topology::local(tasks);
      RandomGraph made = random_graph(seed, 24, tasks);
      add(std::move(made.graph), made.fetches, made.targets, topology, seed);
    }
  }
  return all;
}

struct Counts {
  std::uint64_t made = 0, accepted = 0, equal = 0, differs = 0, not_proved = 0, wrong = 0, needless = 0;
};

int fuzz(std::uint64_t first, std::uint64_t count) {
  std::vector<Sample> all = samples(120);
  const auto changes = meaning_changes();
  const bool tell = std::getenv("FERRY_FUZZ_TELL") != nullptr;
  std::map<std::string, Counts> by_kind;
  Counts sum;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Dice dice(seed);
    Sample& sample = all[dice.below(all.size())];
    Plan plan = sample.plan;
    const std::size_t kind = dice.below(changes.size() + 3);
    std::string name = "any field", what;
    if (kind < changes.size()) {
      name = changes[kind].name;
      bool changed = false;
      for (int tries = 0; tries < 4 && !changed; ++tries) changed = changes[kind].apply(plan, dice);
      if (!changed) continue;
    } else {
      what = mutate(plan, dice);
    }
    Counts& counts = by_kind[name];
    ++counts.made;
    try {
      plan = decode_plan(encode_plan(plan), "fuzz.plan");
      if (!verify(plan, {nullptr, &all_kernels()}).pass) continue;
    } catch (const Error&) {
      continue;
    }
    ++counts.accepted;
    const Equality equality = compared(*sample.graph, sample.signature, plan);
    const bool equal = equality.verdict == Equality::Verdict::equal;
    ++(equal ? counts.equal : equality.verdict == Equality::Verdict::differs ? counts.differs : counts.not_proved);
    if (equal) {
      const std::string results = results_apart(plan, 0);
      if (results == sample.results[0] || cannot_run(results)) continue;
      ++counts.wrong;
      std::printf("seed %llu, %s: found equal, and gives %s\n", static_cast<unsigned long long>(seed),
                  (what.empty() ? name : what).c_str(), results.substr(0, 12).c_str());
    } else if (tell && gives_the_same(plan, sample)) {
      ++counts.needless;
      if (std::getenv("FERRY_FUZZ_ALL") != nullptr)
        std::printf("seed %llu, %s: refused without need: %s\n", static_cast<unsigned long long>(seed),
                    (what.empty() ? name : what).c_str(), equality.reason.c_str());
    }
  }
  for (const auto& [name, c] : by_kind) {
    std::printf("%-50s %5llu made, %5llu verified, %5llu equal, %5llu differ, %4llu not proved, %3llu needless\n",
                name.c_str(), static_cast<unsigned long long>(c.made), static_cast<unsigned long long>(c.accepted),
                static_cast<unsigned long long>(c.equal), static_cast<unsigned long long>(c.differs),
                static_cast<unsigned long long>(c.not_proved), static_cast<unsigned long long>(c.needless));
    sum.made += c.made;
    sum.accepted += c.accepted;
    sum.equal += c.equal;
    sum.differs += c.differs;
    sum.not_proved += c.not_proved;
    sum.wrong += c.wrong;
    sum.needless += c.needless;
  }
  std::printf(
      "%llu changed plans of %zu: the verifier accepts %llu; of these %llu are equal, %llu differ, %llu are not "
      "proved; %llu wrongly found equal, %llu refused without need\n",
      static_cast<unsigned long long>(sum.made), all.size(), static_cast<unsigned long long>(sum.accepted),
      static_cast<unsigned long long>(sum.equal), static_cast<unsigned long long>(sum.differs),
      static_cast<unsigned long long>(sum.not_proved), static_cast<unsigned long long>(sum.wrong),
      static_cast<unsigned long long>(sum.needless));
  return sum.wrong == 0 && sum.equal > 0 && sum.differs > 0 ? 0 : 1;
}

}  // namespace
}  // namespace ferry::test

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: fuzz_equal FIRST COUNT\n", stderr), 2;
  try {
    return ferry::test::fuzz(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
  } catch (const ferry::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// Two tasks on one host, compared with hand-written MPI: the cost of waiting, of a message and of an all-reduce (also
// with eight tasks). METG is the smallest size of a graph's tasks at which overhead takes half the time.
#include <algorithm>

#include "bench/benchmark.hpp"
#include "bench/graphs/task_graph.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/rank_pair.hpp"

namespace ferry::bench {
namespace {

constexpr int kGloos = 3;

/// Options of Open MPI for one host. All tunings are measured, and the fastest counts.
const std::vector<Tuning>& tunings() {
  static const std::vector<std::string> eager = {"--mca", "btl_vader_eager_limit", "32768"};
  static const std::vector<std::string> small = {"--mca", "btl_vader_eager_limit", "4096"};
  static const std::vector<std::string> no_cma = {"--mca", "btl_vader_single_copy_mechanism", "none"};
  static const auto joined = [](std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  static const std::vector<Tuning> all = {{"default", small},
                                          {"eager limit 32 KB", eager},
                                          {"no CMA", joined(small, no_cma)},
                                          {"eager limit 32 KB, no CMA", joined(eager, no_cma)}};
  return all;
}

std::vector<std::string> ranks(int count) {
  return {"mpirun", "--oversubscribe", "-np", std::to_string(count)};
}

std::vector<std::string> unbound_ranks() {
  std::vector<std::string> mpirun = ranks(2);
  mpirun.insert(mpirun.end(), {"--bind-to", "none"});
  return mpirun;
}

/// The command at normal priority. If there are more busy threads than cores, a thread at real-time priority waits for
/// the whole time slice of another one (100 ms).
std::vector<std::string> at_normal_priority(std::vector<std::string> command) {
  command.insert(command.begin(), {"chrt", "--other", "0"});
  return command;
}

std::vector<Figure> waiting(const std::string& figure) {
  return {figure_of(measure_pairs({.what = "wait." + figure}, at_normal_priority(unbound_ranks())))};
}

Figure against_mpi(const std::string& what, std::int64_t bytes) {
  return against_best({.what = what, .number = bytes}, ranks(2), tunings());
}

/// Microseconds of one all-reduce by gloo; nullopt if PyTorch, which includes gloo, is not installed.
std::optional<double> round_by_gloo(std::int64_t bytes) {
  const std::int64_t rounds = std::clamp<std::int64_t>((std::int64_t{1} << 28) / bytes, 8, 500);
  const std::string micros = run_program({"python3", "-W", "ignore", beside_this_program("allreduce.py"),
                                          std::to_string(bytes), std::to_string(rounds)})
                                 .output;
  if (micros.empty()) return std::nullopt;
  return std::stod(micros);
}

/// Compares ferry with MPI, or with gloo if gloo is faster.
Figure against_mpi_and_gloo(const std::string& what, std::int64_t bytes) {
  Figure by_mpi = against_mpi(what, bytes);
  const std::optional<double> gloo = round_by_gloo(bytes);
  if (!gloo || *gloo >= *by_mpi.peer_value) return by_mpi;
  const auto ferry = [&] { return figure_of(measure_pairs({.what = what, .number = bytes}, ranks(2))).ferry; };
  Figure figure = compare(kGloos, ferry, [&] { return *round_by_gloo(bytes); });
  figure.peer = "gloo (PyTorch)";
  return figure;
}

/// All-reduces over eight tasks, which share the cores of this machine.
Figure eight_tasks(const std::string&, std::int64_t bytes) {
  return against_best({.what = "allreduce", .number = bytes}, at_normal_priority(ranks(8)), tunings());
}

struct Size {
  const char* name;
  std::int64_t bytes;
};

/// METG of Task Bench's patterns on one thread, two threads and two tasks, compared with MPI on the same number of
/// cores.
std::vector<Benchmark> metg_benchmarks() {
  std::vector<Benchmark> all;
  for (const std::string_view pattern : patterns()) {
    const std::string what = "metg." + std::string(pattern);
    const auto add = [&](const std::string& setting, const std::function<Figure()>& run) {
      all.push_back({what + "." + setting, "us", Benchmark::Better::lower, "raw MPI",
                     [run] { return std::vector<Figure>{run()}; }});
    };
    const RankPair one_thread{.what = what, .number = 1};
    const RankPair two_threads{.what = what, .number = 2};
    add("1x1", [=] { return figure_of(measure_pairs(one_thread, ranks(1))); });
    add("1x2", [=] { return against_best(two_threads, unbound_ranks(), tunings()); });
    add("2x1", [=] { return against_best(one_thread, ranks(2), tunings()); });
  }
  return all;
}

}  // namespace

std::vector<Benchmark> host_benchmarks() {
  std::vector<Benchmark> all;
  const auto add = [&](const std::string& what, std::initializer_list<Size> sizes,
                       Figure (*measure)(const std::string& what, std::int64_t bytes)) {
    for (const Size& size : sizes)
      all.push_back({what + "." + size.name, "us", Benchmark::Better::lower, "raw MPI",
                     [=, bytes = size.bytes] { return std::vector<Figure>{measure(what, bytes)}; }});
  };
  const auto add_waiting = [&](const std::string& figure, const char* unit, Benchmark::Better better) {
    all.push_back({"wait.2x2." + figure, unit, better, "MPI_Wait", [figure] { return waiting(figure); }});
  };
  add_waiting("latency", "us", Benchmark::Better::lower);
  add_waiting("kept", "%", Benchmark::Better::higher);
  add("hop", {{"4B", 4}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"1MB", 1 << 20}, {"16MB", 16 << 20}}, against_mpi);
  add("handover", {{"16MB", 16 << 20}}, against_mpi);
  add("allreduce",
      {{"4B", 4}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"1MB", 1 << 20}, {"16MB", 16 << 20}, {"64MB", 64 << 20}},
      against_mpi_and_gloo);
  add("direct", {{"4B", 4}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"1MB", 1 << 20}, {"10MB", 10 << 20}}, against_mpi);
  add("direct.lent", {{"1MB", 1 << 20}, {"10MB", 10 << 20}}, against_mpi);
  add("allreduce.8", {{"4KB", 4 << 10}, {"1MB", 1 << 20}}, eight_tasks);
  add("stencil", {{"64KB", 64 << 10}, {"1MB", 1 << 20}, {"16MB", 16 << 20}}, against_mpi);
  for (Benchmark& metg : metg_benchmarks()) all.push_back(std::move(metg));
  return all;
}

}  // namespace ferry::bench

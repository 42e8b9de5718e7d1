// Two tasks of one host against hand-written MPI: what a message and a sum cost.
#include "bench/benchmark.hpp"
#include "bench/rank_pair.hpp"

namespace ferry::bench {
namespace {

constexpr int kWaits = 5;

/// How Open MPI may be tuned for one host. The best of them counts.
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

std::vector<std::string> two_ranks() {
  return {"mpirun", "--oversubscribe", "-np", "2"};
}

std::vector<Figure> waiting(const std::string& figure) {
  std::vector<std::string> mpirun = two_ranks();
  mpirun.insert(mpirun.end(), {"--bind-to", "none"});
  return {figure_of(measured({.what = "wait." + figure, .pairs = kWaits}, std::move(mpirun)))};
}

struct Size {
  const char* name;
  std::int64_t bytes;
};

}  // namespace

std::vector<Benchmark> host_benchmarks() {
  std::vector<Benchmark> all;
  const auto add = [&](const std::string& what, std::initializer_list<Size> sizes) {
    for (const Size& size : sizes)
      all.push_back({what + "." + size.name, "us", Benchmark::Better::lower, "raw MPI", [what, bytes = size.bytes] {
                       return std::vector<Figure>{against_best({.what = what, .bytes = bytes}, two_ranks(), tunings())};
                     }});
  };
  const auto add_waiting = [&](const std::string& figure, const char* unit, Benchmark::Better better) {
    all.push_back({"wait.2x2." + figure, unit, better, "MPI_Wait", [figure] { return waiting(figure); }});
  };
  add_waiting("latency", "us", Benchmark::Better::lower);
  add_waiting("kept", "%", Benchmark::Better::higher);
  add("hop", {{"4B", 4}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"1MB", 1 << 20}, {"16MB", 16 << 20}});
  add("handover", {{"16MB", 16 << 20}});
  add("allreduce",
      {{"4B", 4}, {"4KB", 4 << 10}, {"64KB", 64 << 10}, {"1MB", 1 << 20}, {"16MB", 16 << 20}, {"64MB", 64 << 20}});
  return all;
}

}  // namespace ferry::bench

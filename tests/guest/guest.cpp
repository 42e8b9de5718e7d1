// A program that has much of its own before it has ferry: libraries in other versions, a graph.proto, a locale, traps,
// threads of OpenBLAS. It ends with the number of things that are wrong, and says on stderr what they are.
//
//     guest alone FOLDER        ferry leaves the process as it was; FOLDER is for files
//     guest run [OPTION …]      run_main, as a task of a job or alone
//     guest prints FILE         a task that prints on stdout and stderr beside its collectives, and the result to FILE
#include <cblas.h>
#include <signal.h>

#include <cfenv>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <locale>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/compress.hpp>
#include <ferry/base/files.hpp>
#include <ferry/base/hash.hpp>
#include <ferry/base/log.hpp>
#include <ferry/ferry.hpp>
#include <ferry/graph/graph_file.hpp>
#include <ferry/placement/plan_file.hpp>
#include <ferry/placement/planner.hpp>
#include <ferry/runner/run_main.hpp>

#include "tests/guest/graph.pb.h"
#include "tests/guest/other_libraries.hpp"
#include "tests/guest/process_state.hpp"

namespace {

using namespace guest;
using Bits = std::vector<std::vector<std::byte>>;

int wrongs = 0;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "guest: " << what << std::endl;
  ++wrongs;
}

void require_unchanged(const ProcessState& before, const std::string& after_what) {
  ProcessState now = process_state();
  for (const auto& [name, value] : before) {
    require(now[name] == value, after_what + ": " + name + " was " + value + " and is " + now[name]);
    now.erase(name);
  }
  for (const auto& [name, value] : now) require(false, after_what + ": there is a new " + name + ", " + value);
}

constexpr int kTraps = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW;

/// Rounding, small numbers and traps as a program of numerics may want them.
void set_own_floats() {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U);  // subnormal numbers are zero
#endif
  feenableexcept(kTraps);
}

struct Network {
  Network() {
    const auto everywhere = graph.on(graph.mesh("all"));
    const ferry::Value x = ferry::uniform(graph, {400, 50}, -1, 1, ferry::DType::float32, 3).laid({ferry::split(0)});
    const ferry::Value y = ferry::matmul(x, x, true);
    const ferry::Value tiny = x * 1e-39;
    for (const ferry::Value& value : {sum(tanh(y * 40.0)), sum(exp(x)), mean(sigmoid(x) / 3.0), sum(log(y - y)),
                                      sum(cast(greater(abs(tiny), 0.0), ferry::DType::int32))})
      fetches.push_back(value);
  }
  ferry::Graph graph;
  ferry::Values fetches;
};

/// What the network computes; with two threads, so that others than the program's compute, too.
Bits bits_of(const ferry::Cluster& cluster) {
  Network network;
  ferry::Session session(network.graph, cluster, {.run = {.seed = 7}});
  ferry::RunRequest request;
  request.fetches = network.fetches;
  request.steps = 3;
  const int round = std::fegetround(), traps = fegetexcept();
  request.on_step = [&](std::int64_t, std::span<const ferry::Tensor>) {
    require(std::fegetround() == round && fegetexcept() == traps, "a callback has other floats than its program");
  };
  Bits bits;
  for (const ferry::Tensor& tensor : session.run(request))
    bits.emplace_back(tensor.bytes().begin(), tensor.bytes().end());
  const auto& plan = session.plan(request).plan;
  const std::vector<std::byte> file = encode_plan(plan);
  bits.push_back(encode_plan(ferry::decode_plan(file, "memory")));
  session.close();
  return bits;
}

/// A sum of one task without a graph.
Bits bits_of_direct_call() {
  const ferry::Cluster cluster = ferry::Cluster::connect({.tasks = 1});
  std::vector<float> values = {1.0F / 3, 1e30F};
  cluster.all_reduce(std::span<float>(values));
  const auto bytes = std::as_bytes(std::span(values));
  return {{bytes.begin(), bytes.end()}};
}

void use_files(const std::string& folder) {
  Network network;
  for (const char* name : {"/g.pbtxt", "/g.pb"}) {
    ferry::save_graph(network.graph, folder + name);
    const auto read = ferry::load_graph(folder + name, ferry::default_ops());
    require(read->size() == network.graph.size(), std::string("a graph is lost in ") + name);
  }
  mine::Node node;
  node.set_name("a");
  node.add_edges(3);
  require(node.ShortDebugString() == "name: \"a\" edges: 3",
          "the program's own graph.proto is " + node.ShortDebugString());
  require(ferry::hash64("") == 0x2D06800538D394C2, "another XXH3");
  const std::string frame(
      "\x28\xb5\x2f\xfd\x20\x03\x19\x00\x00"
      "abc",
      12);  // one block, not compressed
  const ferry::FileBytes unpacked = ferry::unzstd(std::as_bytes(std::span(frame)), 100, "frame");
  require(unpacked.text() == "abc", "another zstd");
}

void own_signal(int) {}
[[noreturn]] void own_terminate() {
  std::abort();
}

void set_own_locale() {
  if (std::setlocale(LC_ALL, "") == nullptr) return require(false, "there is no such locale");
  std::locale::global(std::locale(""));
}

void add_entry(Network& network) {
  for (std::size_t i = 0; i < network.fetches.size(); ++i)
    network.graph.fetch("run", "f" + std::to_string(i), network.fetches[i]);
}

void be_alone(char* name, const std::string& folder) {
  set_own_locale();
  std::set_terminate(own_terminate);
  signal(SIGINT, own_signal);
  signal(SIGPIPE, own_signal);
  openblas_set_num_threads(3);
  const ferry::ClusterOptions options{.tasks = 2, .threads = 2};
  Bits usual;
  const ProcessState before = process_state();
  {
    usual = bits_of(ferry::Cluster::connect(options));
    use_files(folder);
    ferry::log_warn("the guest speaks");
  }
  require_unchanged(before, "a job");
  set_own_floats();
  const ProcessState before_more = process_state();
  require(bits_of(ferry::Cluster::connect(options)) == usual, "the program's floats change results");
  static_cast<void>(bits_of_direct_call());
  Network network;
  add_entry(network);
  char unknown[] = "--nosuch";
  char* words[] = {name, unknown, nullptr};
  require(ferry::run_main(1, words, network.graph) == 0, "run_main fails");
  require(ferry::run_main(2, words, network.graph) == 2, "an option that is unknown");
  require_unchanged(before_more, "a job with floats of the program's own");
}

int run(int argc, char** argv) {
  set_own_locale();
  Network network;
  add_entry(network);
  return ferry::run_main(argc, argv, network.graph);
}

void print(const char* file) {
  const ferry::Cluster cluster = ferry::Cluster::connect();
  std::vector<float> sum(1000, 1);
  for (int step = 0; step < 20; ++step) {
    std::fprintf(stderr, "step %d of task %d\n", step, cluster.rank());
    std::printf("step %d of task %d\n", step, cluster.rank());
    std::fflush(stdout);
    cluster.all_reduce_mean(std::span<float>(sum));
  }
  std::ofstream(file) << sum[7] << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  use_other_libraries();
  const std::string_view what = argv[1];
  argv[1] = argv[0];
  if (what == "run") return run(argc - 1, argv + 1);
  if (what == "prints")
    print(argv[2]);
  else
    be_alone(argv[0], argv[2]);
  return wrongs;
}

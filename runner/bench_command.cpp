#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "executor/session.hpp"
#include "graph/graph_file.hpp"
#include "ops/math.hpp"
#include "ops/op_set.hpp"
#include "runner/commands.hpp"

namespace ferry {
namespace {

constexpr int kChainOps = 1'000'000;
constexpr int kRandomOps = 100'000;

/// One line of the result.
void report(const std::string& name, double seconds, bool as_json) {
  if (as_json) {
    const nlohmann::ordered_json json = {{"name", name},     {"unit", "s"},           {"ferry", seconds},
                                         {"peer", nullptr},  {"peer_value", nullptr}, {"ratio", nullptr},
                                         {"better", "lower"}};
    print(json.dump() + "\n");
    return;
  }
  char text[96];
  std::snprintf(text, sizeof text, "%-24s %8.3f s\n", name.c_str(), seconds);
  print(text);
}

/// A folder for the files of a benchmark, gone at its end.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "ferry-bench-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw Error(Code::resource, "no folder for temporary files: " + path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Value chain(Graph& g) {
  const Value one = g.constant(1.0);
  Value sum = one;
  for (int i = 0; i < kChainOps; ++i) sum = sum + one;
  return sum;
}

/// Maxima of the last value and an earlier one, chosen by the linear congruential generator of Knuth's MMIX: so that
/// the last one needs them all.
Value random_maxima(Graph& g) {
  Values made{g.constant(1.0), g.constant(0.5)};
  std::uint64_t state = 1;
  const auto earlier = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return made[static_cast<std::size_t>((state >> 33) % made.size())];
  };
  for (int i = 2; i < kRandomOps; ++i) made.push_back(maximum(made.back(), earlier()));
  return made.back();
}

/// Times what happens to a graph from its making to its second run.
void plan_case(const std::string& name, const std::function<Value(Graph&)>& build, bool as_json) {
  TimePoint begin = system_clock().now();
  const auto lap = [&](const char* what) {
    const TimePoint now = system_clock().now();
    report(name + "." + what, std::chrono::duration<double>(now - begin).count(), as_json);
    begin = system_clock().now();
  };
  const ScratchFolder folder;
  {
    Graph g;
    g.fetch("run", "out", build(g));
    lap("build");
    save_graph(g, folder.file("graph.pb"));
    lap("save");
  }
  begin = system_clock().now();
  const std::unique_ptr<Graph> graph = load_graph(folder.file("graph.pb"), default_ops());
  lap("load");
  ClusterOptions options;
  options.tasks = 1;
  options.threads = 1;
  options.transport = "inproc";
  Session session(*graph, Cluster::connect(options));
  RunRequest request;
  request.fetches = {graph->value(graph->entry("run").fetches[0].value)};
  static_cast<void>(session.plan(request));
  lap("plan");
  static_cast<void>(session.run(request));
  lap("first_run");
  static_cast<void>(session.run(request));
  lap("run");
}

struct Benchmark {
  std::string name;
  std::function<void(const std::string& name, bool as_json)> run;
};

std::vector<Benchmark> benchmarks() {
  return {{"plan.1M.chain", [](const std::string& name, bool as_json) { plan_case(name, chain, as_json); }},
          {"plan.1M.random", [](const std::string& name, bool as_json) { plan_case(name, random_maxima, as_json); }}};
}

/// A prefix selects all below it.
bool selects(const std::string& wanted, const std::string& name) {
  return name == wanted || (name.starts_with(wanted) && name[wanted.size()] == '.');
}

int bench(const std::vector<std::string>& wanted, bool as_json) {
  for (const std::string& name : wanted) {
    bool found = false;
    std::vector<std::string> names;
    for (const Benchmark& benchmark : benchmarks()) {
      found = found || selects(name, benchmark.name);
      names.push_back(benchmark.name);
    }
    if (!found)
      throw Error(Code::usage, "there is no benchmark " + in_quotes(name))
          .hint("one of " + join(names, ", ") + ", or a prefix");
  }
  for (const Benchmark& benchmark : benchmarks()) {
    bool run = wanted.empty();
    for (const std::string& name : wanted) run = run || selects(name, benchmark.name);
    if (run) benchmark.run(benchmark.name, as_json);
  }
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "The benchmarks");
  struct Options {
    std::vector<std::string> names;
    bool as_json = false;
  };
  auto options = std::make_shared<Options>();
  command->add_option("NAME", options->names, "Which; a prefix selects all below it; default: all");
  command->add_flag("--json", options->as_json, "One JSON object a line");
  add_examples(*command, R"(
    ferry bench plan.1M          build, save, load, plan and run a chain of a million adds and 100,000 random ops
    ferry bench plan.1M --json)");
  command->callback([&action, options] { action = [options] { return bench(options->names, options->as_json); }; });
}

}  // namespace ferry

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "bench/benchmark.hpp"
#include "runner/commands.hpp"

namespace ferry {
namespace {

using bench::Benchmark;
using bench::Figure;

/// A benchmark's figure as one line.
std::string json_line(const Benchmark& benchmark, const std::string& name, const Figure& figure) {
  const std::string& peer = figure.peer.empty() ? benchmark.peer : figure.peer;
  nlohmann::ordered_json json = {{"name", name},
                                 {"unit", figure.unit.empty() ? benchmark.unit : figure.unit},
                                 {"ferry", figure.ferry},
                                 {"peer", nullptr},
                                 {"peer_value", nullptr},
                                 {"ratio", nullptr},
                                 {"better", benchmark.better == Benchmark::Better::lower ? "lower" : "higher"}};
  if (figure.peer_value) {
    json["peer"] = peer;
    json["peer_value"] = *figure.peer_value;
    json["ratio"] = figure.ratio ? *figure.ratio : figure.ferry / *figure.peer_value;
  }
  return json.dump() + "\n";
}

std::string text_line(const Benchmark& benchmark, const std::string& name, const Figure& figure) {
  const std::string& unit = figure.unit.empty() ? benchmark.unit : figure.unit;
  const std::string& peer = figure.peer.empty() ? benchmark.peer : figure.peer;
  char text[256];
  std::snprintf(text, sizeof text, "%-24s %10.4g %-8s", name.c_str(), figure.ferry, unit.c_str());
  std::string line = text;
  if (figure.peer_value) {
    std::snprintf(text, sizeof text, " %10.4g %-8s ratio %.3f  (%s)", *figure.peer_value, unit.c_str(),
                  figure.ratio ? *figure.ratio : figure.ferry / *figure.peer_value, peer.c_str());
    line += text;
  }
  return std::string(line.substr(0, line.find_last_not_of(' ') + 1)) + "\n";
}

/// A prefix selects all below it.
bool selects(const std::string& wanted, const std::string& name) {
  return name == wanted || (name.starts_with(wanted) && name[wanted.size()] == '.');
}

void require_all_exist(const std::vector<std::string>& wanted, const std::vector<Benchmark>& all) {
  for (const std::string& name : wanted) {
    bool found = false;
    std::vector<std::string> names;
    for (const Benchmark& benchmark : all) {
      found = found || selects(name, benchmark.name);
      names.push_back(benchmark.name);
    }
    if (!found)
      throw Error(Code::usage, "there is no benchmark " + in_quotes(name))
          .hint("one of " + join(names, ", ") + ", or a prefix");
  }
}

void run_benchmark(const Benchmark& benchmark, bool as_json) {
  try {
    for (const Figure& figure : benchmark.run()) {
      const std::string name = figure.part.empty() ? benchmark.name : benchmark.name + "." + figure.part;
      print(as_json ? json_line(benchmark, name, figure) : text_line(benchmark, name, figure));
    }
  } catch (const bench::Skipped& skipped) {
    std::fprintf(stderr, "%s: skipped: %s\n", benchmark.name.c_str(), skipped.reason.c_str());
  }
}

int run_benchmarks(const std::vector<std::string>& wanted, bool as_json) {
  const std::vector<Benchmark> all = bench::benchmarks();
  require_all_exist(wanted, all);
  for (const Benchmark& benchmark : all) {
    bool run = wanted.empty();
    for (const std::string& name : wanted) run = run || selects(name, benchmark.name);
    if (run) run_benchmark(benchmark, as_json);
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
    ferry bench hop allreduce    messages and sums between two tasks of this host, against hand-written MPI
    ferry bench start            from exec to the first result of c = a + b
    ferry bench plan.1M --json   build, save, load and plan a chain of a million adds and 100,000 random ops)");
  command->callback(
      [&action, options] { action = [options] { return run_benchmarks(options->names, options->as_json); }; });
}

}  // namespace ferry

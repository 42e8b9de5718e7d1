#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"
#include "bench/benchmark.hpp"
#include "runner/command/bench_report.hpp"
#include "runner/command/commands.hpp"

namespace ferry {
namespace {

using bench::Benchmark;

/// Whether `wanted` is the name, or a prefix of the name that ends before a dot.
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
    if (found) continue;
    const std::string like = nearest(name, names);
    throw Error(Code::usage, "there is no benchmark {:?}", name).hint(like.empty() ? "ferry bench --list" : like + "?");
  }
}

struct BenchOptions {
  std::vector<std::string> names;
  bool as_json = false, lists = false;
  std::string svg;
};

/// Runs a benchmark. Prints its lines as they come, and returns them.
std::vector<BenchLine> run_benchmark(const Benchmark& benchmark, bool as_json) {
  std::vector<BenchLine> lines;
  for (const bench::Figure& figure : benchmark.run()) {
    lines.emplace_back(benchmark, figure);
    print(as_json ? json_line(lines.back()) : text_line(lines.back()));
  }
  return lines;
}

int run_benchmarks(const BenchOptions& options) {
  const std::vector<Benchmark> all = bench::benchmarks();
  require_all_exist(options.names, all);
  std::vector<BenchLine> lines;
  std::vector<std::pair<std::string, std::string>> skipped;  // names and reasons
  for (const Benchmark& benchmark : all) {
    bool chosen = options.names.empty();
    for (const std::string& name : options.names) chosen = chosen || selects(name, benchmark.name);
    if (!chosen) continue;
    if (options.lists) {
      print(benchmark.name + "\n");
      continue;
    }
    try {
      std::ranges::move(run_benchmark(benchmark, options.as_json), std::back_inserter(lines));
    } catch (const bench::Skipped& reason) {
      skipped.emplace_back(benchmark.name, reason.reason);
    }
  }
  std::fputs(skipped_lines(skipped).c_str(), stderr);
  if (options.svg.empty()) return 0;
  std::vector<SpeedBar> bars;
  for (const BenchLine& line : lines) bars.push_back(bar_of(line));
  local_files().write(
      options.svg,
      speed_bars_svg("How many times as fast as its peer ferry is: right of 1x faster, left of it slower", bars));
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Runs the benchmarks");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("NAME", options->names, "A benchmark, or a prefix such as hop for all hop.*; default: all");
  auto* const json = command->add_flag("--json", options->as_json, "Prints a JSON object for each figure");
  command->add_option("--svg", options->svg, "Draws the speed of ferry relative to its peers")->type_name("FILE.svg");
  command->add_flag("--list", options->lists, "Prints the names of the benchmarks and runs none")->excludes(json);
  add_examples(*command, R"(
    ferry bench hop allreduce    messages and sums between two tasks of this host, against hand-written MPI
    ferry bench start            from exec to the first result of c = a + b
    ferry bench plan.1M --json   build, save, load and plan a chain of a million adds and 100,000 random ops)");
  command->callback([&action, options] { action = [options] { return run_benchmarks(*options); }; });
}

}  // namespace ferry

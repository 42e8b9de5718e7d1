#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
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
};

/// Runs benchmarks, and prints their figures to stdout as they come. Reasons for missing figures go to stderr, with
/// --json as one object for each benchmark.
class BenchRun {
 public:
  explicit BenchRun(bool as_json) : as_json_(as_json) {}

  void run(const Benchmark& benchmark) {
    try {
      for (const bench::Figure& figure : benchmark.run()) {
        const BenchLine line(benchmark, figure);
        print(as_json_ ? json_line(line) : text_line(line));
      }
    } catch (const bench::Skipped& skipped) {
      if (as_json_)
        print_reason(benchmark, "skipped", skipped.reason);
      else
        skipped_.emplace_back(benchmark.name, skipped.reason);
    } catch (const std::exception& error) {
      print_reason(benchmark, "failed", error.what());
      if (!first_error_) first_error_ = std::current_exception();
    }
  }

  /// Prints the skipped benchmarks. Then throws the first error.
  void finish() const {
    std::fputs(skipped_lines(skipped_).c_str(), stderr);
    if (first_error_) std::rethrow_exception(first_error_);
  }

 private:
  void print_reason(const Benchmark& benchmark, const char* state, std::string_view reason) const {
    const std::string line = as_json_ ? json_line(benchmark.name, state, reason)
                                      : formatted("{}: {}: {}\n", benchmark.name, as_is(state), as_is(reason));
    std::fputs(line.c_str(), stderr);
  }

  const bool as_json_;
  std::vector<std::pair<std::string, std::string>> skipped_;  // names and reasons
  std::exception_ptr first_error_;
};

/// Runs the chosen benchmarks, also those after one that fails.
int run_benchmarks(const BenchOptions& options) {
  const std::vector<Benchmark> all = bench::benchmarks();
  require_all_exist(options.names, all);
  BenchRun run(options.as_json);
  for (const Benchmark& benchmark : all) {
    bool chosen = options.names.empty();
    for (const std::string& name : options.names) chosen = chosen || selects(name, benchmark.name);
    if (!chosen) continue;
    if (options.lists)
      print(benchmark.name + "\n");
    else
      run.run(benchmark);
  }
  run.finish();
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Runs the benchmarks");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("NAME", options->names, "A benchmark, or a prefix such as hop for all hop.*; default: all");
  auto* const json = command->add_flag("--json", options->as_json, "Prints a JSON object for each figure");
  command->add_flag("--list", options->lists, "Prints the names of the benchmarks and runs none")->excludes(json);
  add_examples(*command, R"(
    ferry bench hop allreduce    messages and sums between two tasks of this host, against hand-written MPI
    ferry bench start            from exec to the first result of c = a + b
    ferry bench plan.1M --json   build, save, load and plan a chain of a million adds and 100,000 random ops)");
  command->callback([&action, options] { action = [options] { return run_benchmarks(*options); }; });
}

}  // namespace ferry

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "runner/command/commands.hpp"
#include "runner/files/written_files.hpp"
#include "runner/pictures/curves_svg.hpp"
#include "runner/report/curves.hpp"
#include "runner/report/report_page.hpp"
#include "runner/report/run_report.hpp"

namespace ferry {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::string out;
};

std::string read_text(const std::string& file) {
  const FileBytes bytes = local_files().read(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads a run from a report or a trace.
ReportedRun read_run(const std::string& file) {
  const std::string text = read_text(file);
  if (is_report_page(text)) return {file, run_in_page(text, file)};
  RunReport report("");
  report.set_trace(text, file);
  return {file, report.json()};
}

/// Reads the curves from a report, or from a file that --metrics wrote.
NamedCurves read_curves(const std::string& file) {
  const std::string text = read_text(file);
  return {file, is_report_page(text) ? curves_in_run(run_in_page(text, file)) : curves_in_metrics(text, file)};
}

int write_report(const ReportOptions& options) {
  const bool draws = options.out.ends_with(".svg");
  if (!draws && options.files.size() > 2)
    throw Error(Code::usage, "a page shows one run or two, and {} are given", options.files.size())
        .hint("--out FILE.svg draws the curves of up to {} runs", kMostCurveRuns);
  check_written_file("--out", options.out);
  std::vector<GivenFile> read;
  for (const std::string& file : options.files) read.push_back({"", file});
  require_distinct_files(read, {{"--out", options.out}});
  if (draws) {
    std::vector<NamedCurves> runs;
    for (const std::string& file : options.files) runs.push_back(read_curves(file));
    local_files().write(options.out, curves_svg(runs));
    return 0;
  }
  std::vector<ReportedRun> runs;
  for (const std::string& file : options.files) runs.push_back(read_run(file));
  local_files().write(options.out, report_page(runs));
  return 0;
}

}  // namespace

void add_report_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("report", "Makes a page that compares two reports or shows a trace; draws curves");
  auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("FILE", options->files,
                   "One or two runs: what ferry run --report (.html) or ferry run --trace (.json) wrote; for curves up "
                   "to 8: what --metrics (.jsonl) or --report wrote")
      ->required()
      ->expected(1, static_cast<int>(kMostCurveRuns));
  command->add_option("--out", options->out, "The page, or with FILE.svg the curves of the scalars that the runs fetch")
      ->required()
      ->type_name("FILE.html");
  add_examples(*command, R"(
    ferry report before.html after.html --out both.html    what became faster, line by line
    ferry report trace.json --out trace.html               the trace of an earlier version too
    ferry report run.jsonl --out curves.svg                loss and accuracy over the steps, also while the run lasts)");
  command->callback([&action, options] { action = [options] { return write_report(*options); }; });
}

}  // namespace ferry

#include "runner/run/session_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/files.hpp"
#include "base/process/process_state.hpp"
#include "base/text.hpp"
#include "runner/options/command_line.hpp"
#include "runner/options/own_options.hpp"
#include "runner/options/run_options.hpp"
#include "runner/report/report_page.hpp"
#include "runner/report/run_report.hpp"
#include "runner/run/job.hpp"

namespace ferry {
namespace {

/// Options of `ferry run` for the entries of a graph and the steps of a run. A session alone cannot follow them.
constexpr std::string_view kOfRuns =
    "--entry --fetch --fetch-to --feed --feed-part --dim --devices --balance --budget --out --steps --epochs "
    "--eval-every --print-every --model --save --tune --save-plan --checkpoint --checkpoint-every --checkpoint-keep "
    "--resume --metrics --tensorboard --stats --print-annotations";
constexpr std::size_t kLeastCompared = 4;  // letters: shorter names resemble too many others, as --dir resembles --dim

void hide_options_of_runs(CLI::App& app) {
  for (const std::string_view name : split(kOfRuns, ' ')) app.get_option(std::string(name))->group("");
}

void refuse_options_of_runs(const CLI::App& app) {
  for (const std::string_view name : split(kOfRuns, ' ')) {
    if (app.get_option(std::string(name))->count() == 0) continue;
    const bool model = name == "--model" || name == "--save";
    throw Error(Code::usage, std::string(name) + ": this program makes its own session, which does not follow it")
        .hint((model ? "ferry::load and ferry::save in the program, or " : "in the program, ") +
              std::string("run_main() with a TrainingLoop, which follows all options of ferry run"));
  }
}

/// Whether `name` is the beginning of `option`, and clearly no name of a program's own: with a hyphen, or with more
/// than half of the letters.
bool abbreviates(std::string_view name, std::string_view option) {
  return option.starts_with(name) && (2 * name.size() > option.size() || name.find('-') != std::string_view::npos);
}

/// The name in `known` that the user meant by `word`, such as "--taks", "--check-num" or "-tasks"; empty if `word` does
/// not resemble any of them.
std::string meant_by(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view name = word.substr(word.starts_with("--") ? 2 : 1);
  if (name.size() < kLeastCompared) return {};
  if (!word.starts_with("--")) return std::ranges::find(known, name) == known.end() ? "" : std::string(name);
  const auto longer = std::ranges::find_if(known, [&](const std::string& option) { return abbreviates(name, option); });
  return longer != known.end() ? *longer : nearest(name, known);
}

void refuse_mistyped(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      if (name.size() >= kLeastCompared) known.push_back(name);
  for (const std::string_view word : words) {
    if (word == "--") return;
    if (!word.starts_with('-')) continue;
    const std::string_view option = word.substr(0, word.find('='));
    const std::string meant = meant_by(option, known);
    if (meant.empty()) continue;
    throw Error(Code::usage, "unknown option {:?}", option)
        .hint("--{}? An option of the program's own goes into ProgramOptions, or follows --", meant);
  }
}

/// Keeps only the words `left` in argv. They are in the same order as in argv.
void keep(const std::vector<std::string>& left, int& argc, char** argv) {
  std::size_t kept = 0;
  for (int i = 1; i < argc && kept < left.size(); ++i)
    if (argv[i] == left[kept]) argv[++kept] = argv[i];
  argc = static_cast<int>(kept) + 1;
  argv[argc] = nullptr;
}

}  // namespace

SessionArguments session_options(int& argc, char** argv, const ProgramOptions& own) {
  CLI::App app("Runs this program.", CLI::detail::split(argv[0], '/').back());
  RunOptions options;
  add_own_options(app, own);
  add_run_options(app, options);
  hide_options_of_runs(app);
  app.allow_extras();
  run_before_job(options.cluster, [&] {
    if (!parse_command_line(app, argc, argv)) std::exit(0);
    refuse_options_of_runs(app);
    refuse_mistyped(app, app.remaining());
    require_distinct_files(options, {});
    read_costs(options);
  });
  keep(app.remaining(), argc, argv);
  add_compared_options(options);
  SessionArguments result{options.cluster, session_options(options, options.run), options.ops};
  if (!options.report.empty())
    result.session.run.on_trace = [path = options.report, command = command_line()](std::string_view trace) {
      RunReport report(command);
      report.set_trace(trace, "the trace of this run");
      local_files().write(path, report_page({{"", report.json()}}));
    };
  return result;
}

}  // namespace ferry

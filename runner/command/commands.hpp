// The subcommands of `ferry`, one file each. Each function adds one subcommand to `app`. If the user calls this
// subcommand, it sets `action`.
#pragma once

#include <string>
#include <vector>

#include "runner/options/command_line.hpp"

namespace ferry {

void add_run_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_check_command(CLI::App& app, Action& action);
void add_show_command(CLI::App& app, Action& action);
void add_explain_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_import_command(CLI::App& app, Action& action);
void add_conformance_command(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action);
void add_new_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_calibrate_command(CLI::App& app, Action& action);
void add_quote_command(CLI::App& app, Action& action);
/// `launched`: the command that `ferry launch` starts, from take_launched(). `launched` and `action` must stay valid
/// until the action has run.
void add_launch_command(CLI::App& app, const std::vector<std::string>& launched, Action& action);
/// The same for `ferry worker`, which runs its command in a container.
void add_worker_command(CLI::App& app, const std::vector<std::string>& launched, Action& action);

/// Removes from `argv` the command that `ferry launch` or `ferry worker` will start: all words after the subcommand's
/// own options and a "--". Call it after these options are added and before parsing, because CLI11 reads words such as
/// "[ -f x ]" as lists. Returns no words for other subcommands.
[[nodiscard]] std::vector<std::string> take_launched(const CLI::App& app, int& argc, char** argv);

}  // namespace ferry

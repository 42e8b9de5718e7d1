// The subcommands of `ferry`, one file each. Each function adds a subcommand to `app`; if that is the one which the
// user gives, it sets `action`.
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
/// `launched`: the command that it starts, which take_launched() found; both outlive the action.
void add_launch_command(CLI::App& app, const std::vector<std::string>& launched, Action& action);
/// The same for the command that runs in a container.
void add_worker_command(CLI::App& app, const std::vector<std::string>& launched, Action& action);

/// Takes off `argv` the command that `ferry launch` or `ferry worker` is to start: all after its own options and a
/// "--". Called between adding these and parsing, since words such as "[ -f x ]" mean lists to CLI11. Empty for other
/// subcommands.
[[nodiscard]] std::vector<std::string> take_launched(const CLI::App& app, int& argc, char** argv);

}  // namespace ferry

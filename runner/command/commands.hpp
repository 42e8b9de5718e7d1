// The subcommands of `ferry`, one file each. Each function adds a subcommand to `app`; if that is the one which the
// user gives, it sets `action`.
#pragma once

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
void add_bench_command(CLI::App& app, Action& action);

}  // namespace ferry

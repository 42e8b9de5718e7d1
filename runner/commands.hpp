// The subcommands of `ferry`, one file each. Each adds itself to `app`, and sets `action` when it is the one given.
#pragma once

#include "runner/command_line.hpp"

namespace ferry {

void add_doctor_command(CLI::App& app, Action& action);

}  // namespace ferry

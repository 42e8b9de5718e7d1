// Formats the help of commands: options in groups, wrapped to the width of the terminal.
#pragma once

namespace CLI {
class App;
}

namespace ferry {

/// Sets the format of the help of `app` and of all commands below it. Commands with many options show them in groups.
/// Call it after all options have been added.
void set_help_text(CLI::App& app);

}  // namespace ferry

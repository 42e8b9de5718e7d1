// How --help looks: options in groups, wrapped to the terminal.
#pragma once

namespace CLI {
class App;
}

namespace ferry {

/// Makes the help of `app` and of the commands below it look like ferry's. Commands with many options show them in
/// groups. Call it after all options have been added.
void set_help_text(CLI::App& app);

}  // namespace ferry

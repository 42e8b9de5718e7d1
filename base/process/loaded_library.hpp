// A library of the system that is loaded rather than linked.
#pragma once

namespace ferry {

/// Loads the library at its first call, for the whole process. Its functions are found in it by name. Within the
/// library, its own functions come before functions of the program with the same names, for example from another
/// version of the library that the program is linked with. Error(resource), with `hint`, if it cannot be loaded.
[[nodiscard]] void* load_library(const char* name, const char* hint);

/// Error(resource) when there is none.
[[nodiscard]] void* function_of(void* library, const char* name);

template <class Function>
void find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(function_of(library, name));
}

}  // namespace ferry

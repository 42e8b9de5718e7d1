// Loads libraries of the system at run time, instead of linking them.
#pragma once

namespace ferry {

/// A function of a loaded library. A struct of such functions has each name once:
///
///     struct Zstd {
///       void* library = load_library("libzstd.so.1", "install zstd (libzstd1)");
///       decltype(&ZSTD_isError) is_error = function_of(library, "ZSTD_isError");
///     };
struct LoadedFunction {
  void* address = nullptr;

  /// Converts to a pointer to a function. The caller chooses its type.
  template <class Function>
  operator Function*() const {  // NOLINT(google-explicit-constructor)
    return reinterpret_cast<Function*>(address);
  }
};

/// Loads the library; it stays loaded until the process ends. Within the library, its own functions come before
/// functions of the program with the same names, for example from another version of the library that the program is
/// linked with. Error(resource), with `hint`, if it cannot be loaded.
[[nodiscard]] void* load_library(const char* name, const char* hint);

/// Finds a function by its name. Error(resource) if the library does not have it.
[[nodiscard]] LoadedFunction function_of(void* library, const char* name);

}  // namespace ferry

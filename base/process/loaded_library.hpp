// A library of the system that is loaded rather than linked.
#pragma once

namespace ferry {

/// A function of a loaded library. A table of them says each name once:
///
///     struct Zstd {
///       void* library = load_library("libzstd.so.1", "install zstd (libzstd1)");
///       decltype(&ZSTD_isError) is_error = function_of(library, "ZSTD_isError");
///     };
struct LoadedFunction {
  void* address = nullptr;

  /// As a pointer to a function of the type that the caller declares.
  template <class Function>
  operator Function*() const {  // NOLINT(google-explicit-constructor)
    return reinterpret_cast<Function*>(address);
  }
};

/// Loads the library at its first call, for the whole process. Its functions are found in it by name. Within the
/// library, its own functions come before functions of the program with the same names, for example from another
/// version of the library that the program is linked with. Error(resource), with `hint`, if it cannot be loaded.
[[nodiscard]] void* load_library(const char* name, const char* hint);

/// Error(resource) when there is none.
[[nodiscard]] LoadedFunction function_of(void* library, const char* name);

}  // namespace ferry

// OptionalLibrary: a library that a machine may lack. It is opened by its name at its first use, and stays open.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "base/process/loaded_library.hpp"

namespace ferry::cuda {

/// A struct has the library and then the functions, so that `library` exists when they are looked up:
///
///     struct Nccl {
///       OptionalLibrary library{"NCCL", {"libnccl.so.2"}};
///       int (*group_start)() = library.find("ncclGroupStart");
///     };
class OptionalLibrary {
 public:
  /// Opens the first of `names` that exists. `called` is the name in messages: "NCCL".
  OptionalLibrary(std::string called, std::initializer_list<const char*> names) : called_(std::move(called)) {
    for (const char* const name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
      if (why_.empty()) why_ = dlerror();  // reports the first name, which is the newest version
    }
    if (handle_ != nullptr) why_.clear();
  }

  /// The function of that name; null if it is missing.
  [[nodiscard]] LoadedFunction find(const char* name) {
    if (handle_ == nullptr) return {};
    const LoadedFunction function{dlsym(handle_, name)};
    if (function.address == nullptr) why_ = called_ + " has no function " + name;
    return function;
  }

  /// The reason why the library or a requested function is missing; empty: nothing is missing.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  std::string called_, why_;
  void* handle_ = nullptr;
};

}  // namespace ferry::cuda

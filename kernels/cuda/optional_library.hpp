// A library that a machine may lack: it is opened by its name when it is first needed, and stays open.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "base/process/loaded_library.hpp"

namespace ferry::cuda {

///     struct Nccl {
///       OptionalLibrary library{"NCCL", {"libnccl.so.2"}};
///       int (*group_start)() = library.find("ncclGroupStart");
///     };
class OptionalLibrary {
 public:
  /// Opens the first of `names` that there is. `called`: "NCCL", for people.
  OptionalLibrary(std::string called, std::initializer_list<const char*> names) : called_(std::move(called)) {
    for (const char* const name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
      if (why_.empty()) why_ = dlerror();  // of the newest one
    }
    if (handle_ != nullptr) why_.clear();
  }

  /// The function of that name; null if it is not there.
  [[nodiscard]] LoadedFunction find(const char* name) {
    if (handle_ == nullptr) return {};
    const LoadedFunction function{dlsym(handle_, name)};
    if (function.address == nullptr) why_ = called_ + " has no function " + name;
    return function;
  }

  /// Why the library, or a function that was looked for, is not there; empty: all is there.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  std::string called_, why_;
  void* handle_ = nullptr;
};

}  // namespace ferry::cuda

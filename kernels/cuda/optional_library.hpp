// A library that a machine may lack: it is opened by its name when it is first needed, and stays open.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace ferry::cuda {

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

  /// Sets a pointer to the function of that name.
  template <class Function>
  void find(const char* name, Function& function) {
    if (handle_ == nullptr) return;
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr) why_ = called_ + " has no function " + name;
  }

  /// Why the library, or a function that was looked for, is not there; empty: all is there.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  std::string called_, why_;
  void* handle_ = nullptr;
};

}  // namespace ferry::cuda

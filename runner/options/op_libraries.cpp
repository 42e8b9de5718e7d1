#include "runner/options/op_libraries.hpp"

#include <dlfcn.h>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"
#include "ops/op_set.hpp"

namespace ferry {
namespace {

Error refused(const std::string& library, const std::string& why) {
  return Error(Code::file, "--ops {}: {}", library, as_is(why));
}

std::string last_error() {
  const char* text = dlerror();
  return formatted("{:.500}", text != nullptr ? text : "it cannot be loaded");
}

template <class Function>
Function function_in(void* handle, const char* name) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

void require_kernels(const UserOps& known, const std::string& library) {
  for (const OpDef* def : known.ops.all())
    if (default_ops().find(def->name) == nullptr && known.kernels.find(def->name) == nullptr)
      throw refused(library, "the op '" + std::string(def->name) + "' has no kernel")
          .hint("add one to UserOps::kernels");
}

void add_library(const std::string& library, UserOps& known) {
  const std::string path = library.find('/') == std::string::npos ? "./" + library : library;
  static_cast<void>(local_files().read(path));  // fails for a FIFO, on which dlopen() would block
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw refused(library, last_error()).hint("build it as docs/guide/user_ops.md says");
  const auto add_ops = function_in<void (*)(UserOps&)>(handle, "ferry_add_ops");
  const auto layout = function_in<const OpsLayout* (*)()>(handle, "ferry_ops_layout");
  if (add_ops == nullptr || layout == nullptr)
    throw refused(library, "is not a library of ops: it has no function ferry_add_ops")
        .hint("include <ferry/kernels/user_ops.hpp> and define it");
  if (*layout() != kOpsLayout)
    throw refused(library, "was compiled with the headers of another version of ferry")
        .hint("compile it again with the headers of this one");
  try {
    add_ops(known);
  } catch (...) {
    const Error error = as_error(std::current_exception(), Code::program, "its ferry_add_ops()");
    throw Error(error.code(), "--ops {}: {}", library, as_is(error.text()));
  }
  require_kernels(known, library);
}

}  // namespace

std::shared_ptr<const UserOps> load_op_libraries(const std::vector<std::string>& libraries) {
  auto known = std::make_shared<UserOps>(UserOps{default_ops(), cpu_kernels()});
  for (const std::string& library : libraries) add_library(library, *known);
  return known;
}

void add_ops_option(CLI::App& app, std::shared_ptr<const UserOps>& known) {
  app.add_option_function<std::vector<std::string>>(
         "--ops", [&known](const std::vector<std::string>& libraries) { known = load_op_libraries(libraries); },
         "A library of ops that are not ferry's, and their kernels; repeatable")
      ->type_name("LIB.so")
      ->allow_extra_args(false);
}

}  // namespace ferry

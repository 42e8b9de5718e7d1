#include "base/process/loaded_library.hpp"

#include <dlfcn.h>

#include <string>

#include "base/error.hpp"

namespace ferry {

void* load_library(const char* name, const char* hint) {
  if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL | FERRY_DEEPBIND)) return library;
  const char* const why = dlerror();
  throw Error(Code::resource, std::string("the library ") + name + " cannot be loaded: " + (why ? why : "?"))
      .hint(hint);
}

LoadedFunction function_of(void* library, const char* name) {
  if (void* const function = dlsym(library, name)) return {function};
  const char* const why = dlerror();
  throw Error(Code::resource, std::string("a library has no function ") + name + ": " + (why ? why : "?"));
}

}  // namespace ferry

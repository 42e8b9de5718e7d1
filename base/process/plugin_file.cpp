#include "base/process/plugin_file.hpp"

#include <dlfcn.h>

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/process/process.hpp"

namespace ferry {
namespace {

/// The folder, with a slash, of the file that contains this code: a library or the program. "" if it is not known.
std::string own_folder() {
  Dl_info here{};
  std::string file;
  if (dladdr(reinterpret_cast<const void*>(&open_plugin), &here) != 0 && here.dli_fname != nullptr)
    file = here.dli_fname;
  // For a program, the linker returns the name by which it was called, possibly without a folder.
  if (file.find(".so") == std::string::npos) {
    try {
      file = this_program_path();
    } catch (const Error&) {  // there is no /proc
    }
  }
  return file.substr(0, file.rfind('/') + 1);
}

std::vector<std::string> places_of(const std::string& file) {
  std::vector<std::string> all;
  for (const char* const to : {"", FERRY_LIBRARIES_FROM_PROGRAMS "/"})
    if (std::string path = own_folder() + to + file; local_files().exists(path)) all.push_back(std::move(path));
  all.push_back(file);
  return all;
}

}  // namespace

PluginFile open_plugin(const std::string& file) {
  PluginFile opened;
  for (std::string& place : places_of(file)) {
    opened.handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened.handle != nullptr) {
      opened.path = std::move(place);
      return opened;
    }
    const char* const said = dlerror();
    if (opened.why.empty() && place != file) opened.why = said != nullptr ? said : place + " cannot be opened";
  }
  if (opened.why.empty()) opened.why = file + " is not installed";
  return opened;
}

}  // namespace ferry

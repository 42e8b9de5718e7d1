// Finds and opens ferry's plug-ins: shared libraries that support a kind of device or an MPI library.
#pragma once

#include <string>

namespace ferry {

struct PluginFile {
  void* handle = nullptr;  ///< null: no such plug-in could be opened
  std::string path = {};   ///< the path of the opened file
  std::string why = {};    ///< if none was opened: the dynamic linker's error for the first file that exists
};

/// Opens the plug-in `file`, such as "libferry_cuda.so", and never closes it. ferry searches the folder of the file
/// that contains this code, then the library folder of an installed program, then the folders of the dynamic linker.
[[nodiscard]] PluginFile open_plugin(const std::string& file);

}  // namespace ferry

// Finds and opens the plug-ins of ferry: shared libraries for a kind of device or of MPI.
#pragma once

#include <string>

namespace ferry {

struct PluginFile {
  void* handle = nullptr;  ///< null: no such plug-in could be opened
  std::string path = {};   ///< of the file that was opened
  std::string why = {};    ///< why none was opened: the linker's error for the first file that is there
};

/// Opens the plug-in `file`, such as "libferry_cuda.so". It lies beside this code, or in the library folder if this
/// code is in a program, or where the linker looks for libraries. It is never closed.
[[nodiscard]] PluginFile open_plugin(const std::string& file);

}  // namespace ferry

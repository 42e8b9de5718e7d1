// Opens the MPI library that choose() names and the plug-in for its ABI, and calls MPI through it.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/environment.hpp"
#include "base/process/plugin_file.hpp"
#include "comm/backends.hpp"
#include "comm/mpi/plugin.hpp"
#include "comm/mpi_choice.hpp"

namespace ferry {
namespace {

using mpi::Choice;
using mpi::Library;
using mpi::Surroundings;

/// The file that defines MPI's functions for `handle` or one of its dependencies; "" if none does. Tools that wrap MPI
/// define MPI_Init_thread, but not PMPI_Init_thread.
std::string file_of_mpi(void* handle) {
  Dl_info where{};
  const void* const function = dlsym(handle, "PMPI_Init_thread");
  return function != nullptr && dladdr(function, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : "";
}

/// The name and version that the library reports.
std::string version_of(void* handle) {
  auto* const function = reinterpret_cast<int (*)(char*, int*)>(dlsym(handle, "MPI_Get_library_version"));
  constexpr std::size_t kLongest = 8192;  // the largest MPI_MAX_LIBRARY_VERSION_STRING
  std::string text(kLongest, '\0');
  int length = 0;
  return function != nullptr && function(text.data(), &length) == 0 ? std::string(text.c_str()) : std::string();
}

/// The ABI of the library `file`; `handle` finds its symbols. Error(usage) if ferry does not know the ABI.
MpiAbi abi_of(void* handle, std::string_view file) {
  if (dlsym(handle, "ompi_mpi_comm_world") != nullptr) return MpiAbi::openmpi;
  if (file.find("libmpi_abi.so") != std::string_view::npos) return MpiAbi::standard;
  const std::string version = version_of(handle);
  for (const char* const of_mpich : {"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation MPI"})
    if (version.find(of_mpich) != std::string::npos) return MpiAbi::mpich;
  throw Error(Code::usage, "mpi: ferry does not know the ABI of {}, {:?}", file, version.substr(0, 80))
      .hint("use Open MPI, an MPI with the ABI of MPICH or of MPI 5.0, or --transport tcp");
}

/// The paths of this process's shared libraries with names that begin with "libmpi".
std::vector<std::string> mpi_like_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with("libmpi"))
          static_cast<std::vector<std::string>*>(data)->emplace_back(path);
        return 0;
      },
      &paths);
  return paths;
}

/// The MPI libraries that this process has: linked to the program, or loaded by it, for example for mpi4py.
std::vector<Library> loaded_libraries() {
  std::vector<Library> loaded;
  const auto add = [&](void* handle) {
    const std::string file = file_of_mpi(handle);
    if (!file.empty() && std::ranges::find(loaded, file, &Library::file) == loaded.end())
      loaded.push_back({abi_of(handle, file), file});
  };
  for (const std::string& path : mpi_like_libraries()) {
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    add(handle);
    dlclose(handle);
  }
  add(RTLD_DEFAULT);  // a program that is linked statically to MPI and exports its symbols
  return loaded;
}

/// The ABI of the library `path`, from FERRY_MPI; nothing if it is not a path. Error(usage) if it is not an MPI library
/// that can be loaded.
std::optional<MpiAbi> abi_at(const std::string& path) {
  if (path.find('/') == std::string::npos) return std::nullopt;
  void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const said = dlerror();
    throw Error(Code::usage, "FERRY_MPI={}: this library cannot be loaded", path)
        .note("{:.400}", said != nullptr ? said : "?");
  }
  const std::string file = file_of_mpi(handle);
  if (file.empty())
    throw Error(Code::usage, "FERRY_MPI={}: this library is no MPI, since it has no MPI_Init_thread", path);
  const MpiAbi abi = abi_of(handle, file);
  dlclose(handle);
  return abi;
}

/// The launcher of an MPI that started this process, if there is one.
std::optional<Launcher> launcher() {
  const auto launch = mpi_launch();
  if (!launch) return std::nullopt;
  return std::ranges::find(kLaunchVariables, std::string_view(launch->by), &LaunchVariable::name)->by;
}

Surroundings surroundings() {
  Surroundings all{
      .loaded = loaded_libraries(), .wanted = environment("FERRY_MPI"), .intel_folder = environment("I_MPI_ROOT")};
  all.launcher = launcher();
  all.wanted_abi = abi_at(all.wanted);
  return all;
}

/// Why there is no MPI that ferry can use.
struct MissingMpi {
  std::vector<std::string> tried;  // for each library, the reason
  std::string package;             // MpiFound::package
};

/// The Debian package of an MPI; "" if there is none.
std::string package_of(MpiAbi abi) {
  return abi == MpiAbi::openmpi ? "openmpi-bin" : abi == MpiAbi::mpich ? "mpich" : "";
}

/// A plug-in, with the MPI library that it calls.
struct OpenedMpi {
  const MpiPlugin* plugin = nullptr;
  Library library;
  std::string reason;
};

bool can_be_loaded(const std::string& file) {
  void* const handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

/// Opens `library` and its plug-in. Returns null and sets `missing` if the library, or a plug-in of this version,
/// cannot be opened.
const MpiPlugin* open_library(const Library& library, MissingMpi& missing) {
  void* handle = nullptr;
  if (!library.file.empty()) {
    // Open MPI 4 loads its components as libraries, which look for MPI's symbols in the global scope.
    handle = dlopen(library.file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      const char* const said = dlerror();
      missing.tried.emplace_back(said != nullptr ? said : library.file + " cannot be opened");
      return nullptr;
    }
  }
  const PluginFile file = open_plugin("libferry_mpi_" + std::string(mpi::name_of(library.abi)) + ".so");
  if (file.handle != nullptr) {
    auto* const function = reinterpret_cast<MpiPluginFunction*>(dlsym(file.handle, kMpiPluginFunction));
    const MpiPlugin* const plugin = function != nullptr ? function() : nullptr;
    // The version is the first member of MpiPlugin in every version, and determines the meaning of the other members.
    if (plugin != nullptr && plugin->version == kMpiPluginVersion && plugin->size == sizeof(MpiPlugin) &&
        plugin->ferry == std::string_view(FERRY_VERSION))
      return plugin;
    missing.tried.push_back(file.path + " was built for another ferry: install the one of this version");
  } else {
    missing.tried.push_back(file.why);
  }
  if (missing.package.empty() && !package_of(library.abi).empty())
    missing.package = "ferry-" + std::string(mpi::name_of(library.abi));
  if (handle != nullptr) dlclose(handle);
  return nullptr;
}

/// The MPI of this process; null until one is found. After that it does not change.
std::atomic<const OpenedMpi*> mpi_here = nullptr;

/// Opens an MPI. If no MPI can be used, returns null and sets `missing`.
const OpenedMpi* open_mpi(MissingMpi& missing) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const OpenedMpi* const found = mpi_here) return found;
  const Choice choice = mpi::choose(surroundings());
  for (const Library& library : choice.libraries)
    if (const MpiPlugin* const plugin = open_library(library, missing))
      return mpi_here = new OpenedMpi{plugin, library, choice.reason};
  if (missing.package.empty()) missing.package = package_of(choice.libraries.front().abi);
  return nullptr;
}

const OpenedMpi& required_mpi(std::string_view wanted_by) {
  MissingMpi missing;
  if (const OpenedMpi* const mpi = open_mpi(missing)) return *mpi;
  Error error(Code::usage, std::string(wanted_by) + ": there is no MPI that ferry can use");
  for (const std::string& why : missing.tried) error.note("{:.400}", why);
  throw std::move(error).hint(
      "install {}, or name the library of an MPI by FERRY_MPI=/PATH/libmpi.so.12; a job over TCP needs no MPI "
      "(docs/getting_started/running.md)",
      as_is(missing.package.empty() ? "an MPI" : "the package " + missing.package));
}

}  // namespace

MpiFound find_mpi() {
  MpiFound found;
  MissingMpi missing;
  const OpenedMpi* const mpi = open_mpi(missing);
  found.tried = std::move(missing.tried);
  if (mpi == nullptr) {
    found.package = std::move(missing.package);
  } else {
    found.version = mpi->plugin->library();
    found.abi = mpi::name_of(mpi->library.abi);
    found.library = mpi->library.file;
    found.reason = mpi->reason;
  }
  return found;
}

bool program_has_mpi() {
  return !loaded_libraries().empty();
}

std::vector<std::string> other_mpis(std::string_view abi) {
  std::vector<std::string> others;
  for (const MpiAbi other : {MpiAbi::openmpi, MpiAbi::mpich, MpiAbi::standard}) {
    const std::string name(mpi::name_of(other));
    if (name == abi) continue;
    std::string missing;
    bool here = false;
    for (const Library& library : mpi::choose({.wanted = name}).libraries) {
      here = can_be_loaded(library.file);
      if (here) others.push_back(name + " by " + library.file);
      if (here) break;
      missing += (missing.empty() ? "" : ", ") + library.file;
    }
    if (!here) others.push_back("no " + name + " (" + missing + ")");
  }
  return others;
}

std::unique_ptr<Transport> mpi_transport(const MpiOptions& options) {
  const MpiPlugin& plugin = *required_mpi("transport mpi").plugin;
  if (!plugin.running()) {
    keep_mpi_launch();
    if (const auto launch = mpi_launch()) require_one_way(*launch, false, plugin.library(), options.deadline);
  }
  release_pmi();
  const int tasks = plugin.start();
  if (const auto launch = mpi_launch(); launch && launch->size != tasks) {
    throw Error(Code::usage, "mpi: " + launch->by + " says " + std::to_string(launch->size) + " tasks, the world of " +
                                 plugin.library() + " has " + std::to_string(tasks))
        .hint(
            "choose the MPI of the launcher (FERRY_MPI, ferry doctor), or start ferry with the mpirun of this MPI, or "
            "with srun --mpi=pmix; or unset " +
            launch->by + ", if another launch has left it");
  }
  return plugin.over(nullptr, options);
}

std::unique_ptr<Transport> mpi_transport_over(const void* communicator, MpiAbi abi, const MpiOptions& options) {
  const OpenedMpi& mpi = required_mpi("adopt");
  if (mpi.library.abi != abi)
    throw Error(Code::usage, "adopt: the program was compiled with an MPI of the ABI '" +
                                 std::string(mpi::name_of(abi)) + "', and this process uses " + mpi.plugin->library() +
                                 " (" + std::string(mpi::name_of(mpi.library.abi)) + ")")
        .hint("compile and run the program with one MPI");
  if (!mpi.plugin->running()) {
    throw Error(Code::usage, "adopt: MPI does not run").hint("call MPI_Init before it and MPI_Finalize after it");
  }
  release_pmi();
  open_standard();
  return mpi.plugin->over(communicator, options);
}

void leave_mpi(Code code, std::string_view why, bool said) noexcept {
  if (const OpenedMpi* const found = mpi_here) found->plugin->leave(code, why, said);
}

}  // namespace ferry

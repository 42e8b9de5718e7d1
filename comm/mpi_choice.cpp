#include "comm/mpi_choice.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"

namespace ferry::mpi {
namespace {

constexpr std::pair<MpiAbi, std::string_view> kNames[] = {
    {MpiAbi::openmpi, "openmpi"}, {MpiAbi::mpich, "mpich"}, {MpiAbi::standard, "standard"}};

/// The names of the libraries with an ABI. Debian calls MPICH's library libmpich.so.12, all others libmpi.so.12.
std::vector<std::string> files_of(MpiAbi abi, const std::string& intel_folder) {
  switch (abi) {
    case MpiAbi::openmpi:
      return {"libmpi.so.40"};
    case MpiAbi::standard:
      return {"libmpi_abi.so.1"};
    case MpiAbi::mpich:
      break;
  }
  std::vector<std::string> files = {"libmpi.so.12", "libmpich.so.12"};
  if (!intel_folder.empty()) files.insert(files.begin(), intel_folder + "/lib/libmpi.so.12");
  return files;
}

Choice libraries_with(std::initializer_list<MpiAbi> abis, const Surroundings& surroundings, std::string reason) {
  Choice choice{{}, std::move(reason)};
  for (const MpiAbi abi : abis)
    for (std::string& file : files_of(abi, surroundings.intel_folder))
      choice.libraries.push_back({abi, std::move(file)});
  return choice;
}

std::string library_text(const Library& library) {
  return library.file.empty() ? "the program itself" : library.file;
}

/// The ABI that FERRY_MPI selects.
MpiAbi wanted_abi(const Surroundings& surroundings) {
  if (surroundings.wanted_abi) return *surroundings.wanted_abi;
  const auto* const named =
      std::ranges::find(kNames, std::string_view(surroundings.wanted), &std::pair<MpiAbi, std::string_view>::second);
  if (named != std::end(kNames)) return named->first;
  throw Error(Code::usage, "FERRY_MPI={}: no MPI that ferry knows", surroundings.wanted)
      .hint("openmpi, mpich, standard, or the path of a library, such as /opt/mpich/lib/libmpi.so.12");
}

Choice loaded_library(const Surroundings& surroundings) {
  const std::vector<Library>& loaded = surroundings.loaded;
  if (loaded.size() > 1)
    throw Error(Code::usage, "mpi: this process has loaded two MPI libraries: " + library_text(loaded[0]) + " and " +
                                 library_text(loaded[1]))
        .hint("link the program, and all libraries that it uses, with one MPI");
  if (!surroundings.wanted.empty() && wanted_abi(surroundings) != loaded[0].abi)
    throw Error(Code::usage, "FERRY_MPI={}: this process has loaded another MPI, {} ({})", surroundings.wanted,
                as_is(library_text(loaded[0])), name_of(loaded[0].abi))
        .hint("unset FERRY_MPI: ferry uses the MPI of the program");
  return {{loaded[0]}, "the program has loaded it"};
}

Choice wanted_library(const Surroundings& surroundings) {
  const MpiAbi abi = wanted_abi(surroundings);
  if (surroundings.launcher == Launcher::mpich && abi == MpiAbi::openmpi)
    throw Error(Code::usage,
                "FERRY_MPI={}: the mpiexec of MPICH or Intel MPI started this process (PMI_RANK is set), and Open MPI "
                "cannot run under it",
                surroundings.wanted)
        .hint("unset FERRY_MPI, or start the tasks by the mpirun of Open MPI");
  const std::string reason = formatted("FERRY_MPI={}", surroundings.wanted);
  if (surroundings.wanted_abi) return {{{abi, surroundings.wanted}}, reason};
  return libraries_with({abi}, surroundings, reason);
}

}  // namespace

Choice choose(const Surroundings& surroundings) {
  if (!surroundings.loaded.empty()) return loaded_library(surroundings);
  if (!surroundings.wanted.empty()) return wanted_library(surroundings);
  if (surroundings.launcher == Launcher::mpich)
    return libraries_with({MpiAbi::mpich, MpiAbi::standard}, surroundings,
                          "the mpiexec of MPICH or Intel MPI started this process");
  if (surroundings.launcher == Launcher::mpirun)
    return libraries_with({MpiAbi::openmpi, MpiAbi::standard}, surroundings,
                          "the mpirun of Open MPI started this process");
  if (surroundings.launcher == Launcher::srun)
    return libraries_with({MpiAbi::openmpi, MpiAbi::standard}, surroundings, "srun started this process, by PMIx");
  return libraries_with({MpiAbi::openmpi, MpiAbi::mpich, MpiAbi::standard}, surroundings,
                        "no launcher of an MPI started this process");
}

std::string_view name_of(MpiAbi abi) {
  return std::ranges::find(kNames, abi, &std::pair<MpiAbi, std::string_view>::first)->second;
}

}  // namespace ferry::mpi

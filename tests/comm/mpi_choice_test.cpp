#include "comm/mpi_choice.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

namespace ferry::mpi {
namespace {

/// "openmpi libmpi.so.40; standard libmpi_abi.so.1".
std::string tried(const Surroundings& surroundings) {
  std::string text;
  for (const Library& library : choose(surroundings).libraries)
    text += (text.empty() ? "" : "; ") + std::string(name_of(library.abi)) + " " + library.file;
  return text;
}

constexpr const char* kOpen = "openmpi libmpi.so.40";
constexpr const char* kStandard = "standard libmpi_abi.so.1";
constexpr const char* kMpich = "mpich libmpi.so.12; mpich libmpich.so.12";
const Library kLoaded{MpiAbi::mpich, "/opt/mpich/lib/libmpi.so.12"};

TEST_CASE("the MPI that ferry tries follows from what the process sees") {
  const struct {
    const char* what;
    Surroundings sees;
    std::string tries;
  } table[] = {
      {"nothing", {}, std::string(kOpen) + "; " + kMpich + "; " + kStandard},
      {"Open MPI's mpirun", {.launcher = Launcher::mpirun}, std::string(kOpen) + "; " + kStandard},
      {"srun by PMIx", {.launcher = Launcher::srun}, std::string(kOpen) + "; " + kStandard},
      {"Hydra", {.launcher = Launcher::mpich}, std::string(kMpich) + "; " + kStandard},
      {"Intel's Hydra",
       {.launcher = Launcher::mpich, .intel_folder = "/opt/intel/mpi"},
       std::string("mpich /opt/intel/mpi/lib/libmpi.so.12; ") + kMpich + "; " + kStandard},
      {"FERRY_MPI", {.wanted = "standard", .launcher = Launcher::mpirun}, kStandard},
      {"FERRY_MPI with a path",
       {.wanted = "/opt/x/libmpi.so.12", .launcher = Launcher::mpirun, .wanted_abi = MpiAbi::mpich},
       "mpich /opt/x/libmpi.so.12"},
      {"a program with MPI", {.loaded = {kLoaded}, .launcher = Launcher::mpirun}, "mpich /opt/mpich/lib/libmpi.so.12"},
      {"a program with a static MPI", {.loaded = {{MpiAbi::openmpi, ""}}}, "openmpi "},
      {"a program with MPI, and FERRY_MPI that agrees",
       {.loaded = {kLoaded}, .wanted = "mpich"},
       "mpich /opt/mpich/lib/libmpi.so.12"},
  };
  for (const auto& row : table) {
    INFO(row.what);
    CHECK(tried(row.sees) == row.tries);
    CHECK_FALSE(choose(row.sees).reason.empty());
  }
}

std::string refusal(const Surroundings& surroundings) {
  try {
    static_cast<void>(choose(surroundings));
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    return error.text();
  }
  return "";
}

TEST_CASE("a choice that cannot be made is refused by name") {
  CHECK(refusal({.wanted = "lam"}).starts_with("FERRY_MPI=lam: no MPI that ferry knows"));
  for (const Surroundings& contradiction :
       {Surroundings{.wanted = "openmpi", .launcher = Launcher::mpich},
        Surroundings{.wanted = "/x/libmpi.so.40", .launcher = Launcher::mpich, .wanted_abi = MpiAbi::openmpi}})
    CHECK(refusal(contradiction)
              .starts_with("FERRY_MPI=" + contradiction.wanted +
                           ": the mpiexec of MPICH or Intel MPI started this process (PMI_RANK is set), and Open MPI"));
  CHECK(refusal({.loaded = {kLoaded, {MpiAbi::openmpi, "/usr/lib/libmpi.so.40"}}})
            .starts_with("mpi: this process has loaded two MPI libraries: /opt/mpich/lib/libmpi.so.12 and "
                         "/usr/lib/libmpi.so.40"));
  CHECK(
      refusal({.loaded = {kLoaded}, .wanted = "openmpi"})
          .starts_with("FERRY_MPI=openmpi: this process has loaded another MPI, /opt/mpich/lib/libmpi.so.12 (mpich)"));
}

}  // namespace
}  // namespace ferry::mpi

// Stands in for comm/mpi in a build without MPI.
#include "comm/backends.hpp"

namespace ferry {

bool mpi_built() {
  return false;
}

std::string mpi_version() {
  return {};
}

std::unique_ptr<Transport> mpi_transport(const MpiOptions&) {
  throw Error(Code::usage, "transport mpi: this ferry was built without MPI")
      .hint("install libopenmpi-dev and build again, or take --transport inproc");
}

void leave_mpi(Code, std::string_view) noexcept {}

}  // namespace ferry

#include "comm/mpi/plugin/mpi_call.hpp"

#include <string>

#include "base/error.hpp"

namespace ferry::mpi {

void check(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Error(Code::peer_lost,
              std::string("mpi: ") + what + ": " + std::string(text, static_cast<std::size_t>(length)));
}

}  // namespace ferry::mpi

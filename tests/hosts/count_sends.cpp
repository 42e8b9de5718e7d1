// A library to preload into the tasks of an MPI job. It counts their sends by MPI's profiling interface, without any
// code of ferry's. When a task calls MPI_Finalize, it writes a file named by its rank into the folder that the
// environment variable COUNT_SENDS names: a line "NAME,DESTINATION,MESSAGES,BYTES" for each communicator and
// destination.
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace {

struct Sent {
  std::int64_t messages = 0, bytes = 0;
};

std::map<std::pair<std::string, int>, Sent> all;  // by communicator and destination

void count(int elements, MPI_Datatype type, int destination, MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0, size = 0;
  PMPI_Comm_get_name(comm, name, &length);
  PMPI_Type_size(type, &size);
  Sent& sent = all[{name, destination}];
  ++sent.messages;
  sent.bytes += std::int64_t{elements} * size;
}

void write() {
  const char* const folder = std::getenv("COUNT_SENDS");
  if (folder == nullptr) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::ofstream file(std::string(folder) + "/" + std::to_string(rank));
  for (const auto& [to, sent] : all)
    file << to.first << "," << to.second << "," << sent.messages << "," << sent.bytes << "\n";
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int MPI_Send(const void* data, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count(elements, type, to, comm);
  return PMPI_Send(data, elements, type, to, tag, comm);
}

int MPI_Ssend(const void* data, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count(elements, type, to, comm);
  return PMPI_Ssend(data, elements, type, to, tag, comm);
}

int MPI_Isend(const void* data, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  count(elements, type, to, comm);
  return PMPI_Isend(data, elements, type, to, tag, comm, request);
}

int MPI_Issend(const void* data, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  count(elements, type, to, comm);
  return PMPI_Issend(data, elements, type, to, tag, comm, request);
}

int MPI_Finalize() {
  write();
  return PMPI_Finalize();
}

}  // extern "C"
#pragma GCC visibility pop

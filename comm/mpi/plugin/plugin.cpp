// The functions of this plug-in: see MpiPlugin in comm/mpi/plugin.hpp.
#include "comm/mpi/plugin.hpp"

#include "comm/mpi/plugin/process.hpp"
#include "comm/mpi/plugin/transport_over.hpp"

namespace ferry {
namespace {

int start_world() {
  mpi::start();
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

std::unique_ptr<Transport> over(const void* communicator, const MpiOptions& options) {
  return mpi::transport_over(communicator == nullptr ? MPI_COMM_WORLD : *static_cast<const MPI_Comm*>(communicator),
                             options);
}

}  // namespace
}  // namespace ferry

extern "C" __attribute__((visibility("default"))) const ferry::MpiPlugin* ferry_mpi_plugin() {
  static const ferry::MpiPlugin plugin{
      .ferry = FERRY_VERSION,
      .library = &ferry::mpi::library_version,
      .running = &ferry::mpi::running,
      .start = &ferry::start_world,
      .over = &ferry::over,
      .leave = [](ferry::Code code, std::string_view why, bool said) noexcept { ferry::mpi::leave(code, why, said); }};
  return &plugin;
}

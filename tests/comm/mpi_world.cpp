#include "comm/backends.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {

void on_jobs(const std::function<void(Transport&)>& body, bool closes) {
  for (const std::int64_t chunk_bytes : {std::int64_t{1} << 30, std::int64_t{10007}}) {
    const auto end = mpi_transport({.chunk_bytes = chunk_bytes});
    try {
      body(*end);
      if (closes) end->close();
    } catch (const std::exception& e) {
      end->abort({end->task(), Code::bug, e.what()});
      throw;
    } catch (...) {  // thrown by a failed REQUIRE
      end->abort({end->task(), Code::bug, "a test failed"});
      throw;
    }
  }
}

}  // namespace ferry::test

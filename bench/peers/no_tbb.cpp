#include "bench/graphs/null_graphs.hpp"

namespace ferry::bench {

NullRun null_run_by_tbb(const NullGraph&, int) {
  return {};
}

}  // namespace ferry::bench

#include "bench/graphs/null_graphs.hpp"

namespace ferry::bench {

NullRun null_run_by_taskflow(const NullGraph&, int) {
  return {};
}

}  // namespace ferry::bench

#include "plan/plan_result.hpp"

namespace ferry {

std::int64_t PipelineChart::waits(const Row& row) const {
  std::int64_t busy = 0;
  for (const Work& work : row.work) busy += work.time;
  return length > 0 ? (length - busy) * 100 / length : 0;
}

std::string PipelineChart::Work::name() const {
  return pass + std::to_string(microbatch) + (stage < 0 ? "" : "." + std::to_string(stage));
}

}  // namespace ferry

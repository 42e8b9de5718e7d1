#include "base/system/wall_time.hpp"

#include <chrono>

namespace ferry {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace ferry

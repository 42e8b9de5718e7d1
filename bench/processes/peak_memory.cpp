#include "bench/processes/peak_memory.hpp"

#include <malloc.h>

#include <fstream>
#include <string>

namespace ferry::bench {
namespace {

/// The field `wanted` of /proc/self/status, in bytes; 0 if it is missing.
double status_bytes(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kibibytes = 0;
  while (status >> word)
    if (word == wanted && status >> kibibytes) return kibibytes * 1024;
  return 0;
}

}  // namespace

double reset_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  return status_bytes("VmRSS:");
}

double peak_bytes() {
  return status_bytes("VmHWM:");
}

}  // namespace ferry::bench

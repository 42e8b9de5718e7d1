#include "base/system/host_name.hpp"

#include <unistd.h>

#include <array>

namespace ferry {

std::string this_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

}  // namespace ferry

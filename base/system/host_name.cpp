#include "base/system/host_name.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/net/socket.hpp"

namespace ferry {

std::string this_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

bool is_this_host(const std::string& name) {
  const std::string own = this_host_name();
  const auto short_form = [](const std::string& full) { return full.substr(0, full.find('.')); };
  if (name.empty()) return false;
  // Of two names with domains, both must be equal.
  const bool one_is_short = name.find('.') == std::string::npos || own.find('.') == std::string::npos;
  if (name == "localhost" || name == own || (one_is_short && short_form(name) == short_form(own))) return true;
  try {
    const auto addresses = net::resolved(name, 0, "host");
    return !addresses.empty() && std::ranges::all_of(addresses, net::is_own);
  } catch (const Error&) {  // nobody knows the name, but ssh may
    return false;
  }
}

}  // namespace ferry

#include "base/system/machine.hpp"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/net/socket.hpp"
#include "base/text.hpp"

namespace ferry {

std::string system_text(const char* path) try {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
} catch (const std::exception&) {  // reading may fail even if opening succeeds
  return {};
}

std::string system_field(const char* path, std::string_view key) {
  const std::string text = system_text(path);
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(key))
      if (const auto colon = line.find(':'); colon != std::string_view::npos)
        return std::string(trimmed(line.substr(colon + 1)));
  return {};
}

std::string cpu_name() {
  const std::string model = system_field("/proc/cpuinfo", "model name");
  return model.empty() ? "unknown processor" : model;
}

std::string this_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

bool is_this_host(const std::string& name) {
  const std::string own = this_host_name();
  const auto short_form = [](const std::string& full) { return full.substr(0, full.find('.')); };
  if (name.empty()) return false;
  // If both names have domains, they must be equal.
  const bool one_is_short = name.find('.') == std::string::npos || own.find('.') == std::string::npos;
  if (name == "localhost" || name == own || (one_is_short && short_form(name) == short_form(own))) return true;
  try {
    const auto addresses = net::resolve(name, 0, "host");
    return !addresses.empty() && std::ranges::all_of(addresses, net::is_own);
  } catch (const Error&) {  // the resolver does not know the name, but ssh may
    return false;
  }
}

std::uint64_t installed_memory_bytes() {
  struct sysinfo info {};
  return sysinfo(&info) == 0 ? std::uint64_t{info.totalram} * info.mem_unit : 0;
}

std::uint64_t memory_and_swap_bytes() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return UINT64_MAX;
  return (std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace ferry

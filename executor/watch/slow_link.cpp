#include "executor/watch/slow_link.hpp"

#include <cmath>
#include <cstdint>

#include "base/text.hpp"

namespace ferry {
namespace {

std::string rate_text(double bytes) {
  return human_bytes(static_cast<std::uint64_t>(bytes)) + "/s";
}

}  // namespace

std::string text_of(const SlowLink& link, std::string_view from, std::string_view to) {
  return "the link from " + std::string(from) + " to " + std::string(to) + " is slow: " + rate_text(link.rate) +
         ", where others do " + rate_text(link.usual) + "; without that, steps would be " +
         std::to_string(std::lround(100 * link.cost)) +
         " % shorter\n  try: see the speed and errors of both hosts' interfaces (ethtool, ip -s link), and what else "
         "uses that network; --interface chooses another";
}

}  // namespace ferry

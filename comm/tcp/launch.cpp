#include <cstdlib>
#include <initializer_list>
#include <string>

#include "base/numbers.hpp"
#include "comm/backends.hpp"
#include "comm/tcp/notice.hpp"

namespace ferry {
namespace {

constexpr const char* kHowToLaunch =
    "set RANK, from 0, and WORLD_SIZE for each task, and either MASTER_ADDR and MASTER_PORT or FERRY_RENDEZVOUS; or "
    "unset all";

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : text;
}

bool is_set(const char* name) {
  return !variable(name).empty();
}

int number_in(const char* name, int least, int most) {
  try {
    return whole_number(name, variable(name), least, most);
  } catch (const Error& error) {
    throw Error(Code::usage, "launch: " + error.text()).hint(kHowToLaunch);
  }
}

}  // namespace

std::optional<TcpOptions> tcp_launch(const std::optional<MpiLaunch>& numbers) {
  const bool numbered = numbers && !is_set("RANK") && !is_set("WORLD_SIZE");
  int there = 0;
  std::string first;
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "FERRY_RENDEZVOUS"}) {
    if (!is_set(name)) continue;
    if (there++ == 0) first = name;
  }
  if (there < (numbered ? 1 : 2) || !(numbered || is_set("RANK") || is_set("WORLD_SIZE"))) return std::nullopt;
  const bool by_notice = is_set("FERRY_RENDEZVOUS");
  for (const std::string_view name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    const bool meets = name.starts_with("MASTER_");
    if (by_notice && meets) {
      if (is_set(name.data()))
        throw Error(Code::usage, "launch: both " + std::string(name) + " and FERRY_RENDEZVOUS are set")
            .hint(kHowToLaunch);
    } else if (!is_set(name.data()) && (meets || !numbered)) {
      throw Error(Code::usage, "launch: " + first + " is set, " + std::string(name) + " is not").hint(kHowToLaunch);
    }
  }
  TcpOptions options;
  options.tasks = numbered ? numbers->size : number_in("WORLD_SIZE", 1, 1 << 16);
  options.task = numbered ? numbers->rank : number_in("RANK", 0, options.tasks - 1);
  if (by_notice) {
    options.rendezvous = variable("FERRY_RENDEZVOUS");
    static_cast<void>(tcp::notice_at(options.rendezvous));  // reports faults in it at once
  } else {
    options.address = variable("MASTER_ADDR");
    options.port = number_in("MASTER_PORT", 1, 65535);
  }
  options.served = is_set("FERRY_RENDEZVOUS_SERVED");
  options.interface = variable("FERRY_INTERFACE");
  options.secret = variable("FERRY_SECRET");
  return options;
}

}  // namespace ferry

#include "base/net/socket.hpp"

#include <doctest/doctest.h>
#include <netinet/tcp.h>

#include <array>

namespace ferry::net {
namespace {

TEST_CASE("an address is read as it is written") {
  for (const char* text : {"10.0.0.1:29500", "127.0.0.1:1", "[::1]:65535", "[fd00::2]:80"}) {
    const auto address = parse_address(text);
    REQUIRE(address.has_value());
    CHECK(address->str() == text);
  }
}

int option(const Socket& socket, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  REQUIRE(getsockopt(socket.get(), level, name, &value, &size) == 0);
  return value;
}

TEST_CASE("a connection is given up only after many probes, however short the deadline is") {
  for (const auto& [deadline, seconds] : {std::pair(1, 2), {60, 2}, {120, 2}, {600, 10}}) {
    const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    watch_link(socket, std::chrono::seconds(deadline));
    CHECK(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1);
    CHECK(option(socket, IPPROTO_TCP, TCP_KEEPINTVL) == seconds);
    CHECK(option(socket, IPPROTO_TCP, TCP_KEEPCNT) == 60);
  }
}

TEST_CASE("what is no address is told from one") {
  for (const char* text :
       {"", ":", ":80", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0x50", "10.0.0.1:65536", "10.0.0.1:-1", "10.0.0.1: 80",
        "10.0.0.1:80 ", "localhost:80", "10.1:80", "[10.0.0.1]:80", "[::1:80", "[]:80", "[:80", "::1"})
    CHECK_MESSAGE(!parse_address(text), text);
}

TEST_CASE("the address of a host, where there is no choice") {
  const auto host_address = [](const char* interface, const char* text) {
    return HostAddress{interface, parse_address(text).value()};
  };
  const HostAddress one = host_address("eth0", "10.0.0.1:0"), two = host_address("ib0", "10.1.0.1:0");
  const HostAddress six = host_address("eth0", "[fd00::2]:0"), private_six = host_address("eth0", "[fd00::abcd]:0");
  CHECK(choose_address({}).str() == "127.0.0.1:0");
  CHECK(choose_address(std::array{one}).str() == "10.0.0.1:0");
  CHECK(choose_address(std::array{six}).str() == "[fd00::2]:0");
  CHECK(choose_address(std::array{six, private_six}).str() == "[fd00::2]:0");
  CHECK(choose_address(std::array{six, one}).str() == "10.0.0.1:0");
  CHECK_THROWS_AS(static_cast<void>(choose_address(std::array{six, host_address("ib0", "[fd01::2]:0")})), Error);
  try {
    static_cast<void>(choose_address(std::array{one, two}));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    CHECK(error.text().find("it has eth0 (10.0.0.1), ib0 (10.1.0.1)") != std::string::npos);
    CHECK(error.text().find("--interface") != std::string::npos);
  }
}

}  // namespace
}  // namespace ferry::net

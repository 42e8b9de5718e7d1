#include "base/net/datagram.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>

using namespace ferry;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("base/datagram");

namespace {

constexpr std::uint32_t kLoopback = 0x7f000001;

void exchange(DatagramSocket from, DatagramSocket to) {
  std::array<char, 100> room;
  CHECK(!to.receive(room));
  CHECK(from.send(to.name(), "hello"));
  SocketWait wait;
  wait.wait(std::span(&to, 1), 60s);
  CHECK(to.receive(room) == "hello");
  CHECK(!to.receive(room));
}

}  // namespace

TEST_CASE("datagrams arrive within a host and over UDP") {
  exchange(DatagramSocket::local(), DatagramSocket::local());
  exchange(DatagramSocket::udp(kLoopback), DatagramSocket::udp(kLoopback));
}

TEST_CASE("a local socket that is gone is noticed") {
  const DatagramSocket here = DatagramSocket::local();
  std::string name;
  {
    const DatagramSocket there = DatagramSocket::local();
    name = there.name();
    CHECK(here.send(name, "x"));
  }
  CHECK(!here.send(name, "x"));
}

TEST_CASE("another thread ends a wait") {
  SocketWait wait;
  std::thread waker([&] { wait.wake(); });
  wait.wait({}, 1h);
  waker.join();
}

TEST_CASE("an address that this machine does not have is an error") {
  CHECK_THROWS_WITH(static_cast<void>(DatagramSocket::udp(0x01020304)),
                    doctest::Contains("Cannot assign requested address"));
  CHECK(address_text(kLoopback) == "127.0.0.1");
}

TEST_SUITE_END();

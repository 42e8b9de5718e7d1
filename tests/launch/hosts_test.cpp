#include "runner/launch/hosts.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "base/net/socket.hpp"
#include "base/system/machine.hpp"

namespace ferry {
namespace {

/// "h1:2 h2:1", with "<4" behind a host that may never have more than 4.
std::string shown(const std::vector<LaunchHost>& hosts) {
  std::string text;
  for (const LaunchHost& host : hosts) {
    text += (text.empty() ? "" : " ") + host.name + ":" + std::to_string(host.slots);
    if (host.max_tasks != LaunchHost::kUnlimited) text += "<" + std::to_string(host.max_tasks);
  }
  return text;
}

/// "h1:0+2 h2:2+1": the first task and how many.
std::string shown(const std::vector<HostTasks>& placed) {
  std::string text;
  for (const HostTasks& tasks : placed)
    text += (text.empty() ? "" : " ") + tasks.host.name + ":" + std::to_string(tasks.first) + "+" +
            std::to_string(tasks.count);
  return text;
}

std::string error_of(const auto& body, Code code) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.text();
  }
  return "no error";
}

std::string hostfile_error(std::string_view text) {
  return error_of([&] { static_cast<void>(parse_hostfile("hosts.txt", text)); }, Code::file);
}

std::string hosts_error(std::string_view text) {
  return error_of([&] { static_cast<void>(parse_hosts(text)); }, Code::usage);
}

std::string place_error(std::string_view hosts, std::optional<int> tasks, std::optional<int> per_host) {
  return error_of([&] { static_cast<void>(place_tasks(parse_hosts(hosts), tasks, per_host)); }, Code::usage);
}

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST_CASE("hosts are read from the command line") {
  CHECK(shown(parse_hosts("h1:2,h2")) == "h1:2 h2:1");
  CHECK(shown(parse_hosts("me@10.0.0.1:3, [::1]:2,[fe80::1%eth0]")) == "me@10.0.0.1:3 ::1:2 fe80::1%eth0:1");
  CHECK(shown(parse_hosts("fd00::2,1:2:3:4:5:6:7:8")) == "fd00::2:1 1:2:3:4:5:6:7:8:1");
  CHECK(says(hosts_error("h1,,h2"), "--hosts: a host has no name"));
  CHECK(says(hosts_error("h1:0"), "whole number from 1"));
  CHECK(says(hosts_error("h1:two"), "the slots of h1 two"));
  CHECK(says(hosts_error("h1:65536,h1"), "--hosts: h1 has 65537 slots, from --hosts on, and may have 65536"));
  CHECK(says(hosts_error("-oProxyCommand=x"), "is no name of a host"));
  CHECK(says(hosts_error("h 1"), "\"h 1\" is no name of a host"));
}

TEST_CASE("hostfiles of Open MPI, MPICH and Intel MPI are read") {
  CHECK(shown(parse_hostfile("f", "# two hosts\n\nh1 slots=2 max_slots=4\n  h2\tmax-slots=8 slots=3 # big\r\nh3")) ==
        "h1:2<4 h2:3<8 h3:1");
  CHECK(shown(parse_hostfile("f", "h1:2\nh2:3\n")) == "h1:2 h2:3");
  CHECK(parse_hostfile("f", "\nh1\n").front().where == "f:2");
}

TEST_CASE("047 a host that is named again has the slots of both places, as PBS and LSF write them") {
  CHECK(shown(parse_hostfile("f", "h1\nh1\nh2\nh1\n")) == "h1:3 h2:1");
  CHECK(shown(parse_hostfile("f", "h1 slots=2 max_slots=4\nh2:2\nh1\nh2 slots=3")) == "h1:3<4 h2:5");
  CHECK(parse_hostfile("f", "\nh1\nh1").front().where == "f:2");
  CHECK(shown(parse_hosts("h1,h2:2,h1,h1:3")) == "h1:5 h2:2");
  CHECK(shown(place_tasks(parse_hosts("h1,h2,h1"), {}, {})) == "h1:0+2 h2:2+1");
}

TEST_CASE("047 blanks around = and a byte order mark are no mistakes, and invisible characters are shown") {
  CHECK(shown(parse_hostfile("f", "h1 slots = 2\nh2 slots= 3 max_slots\t=\t4\nh3 slots =5#")) == "h1:2 h2:3<4 h3:5");
  CHECK(says(hostfile_error("h1 slots ="), "hosts.txt:1: slots"));
  CHECK(says(hostfile_error("h1 = 2"), "hosts.txt:1: \"h1=2\" is no name of a host"));
  CHECK(shown(parse_hostfile("f", "\xef\xbb\xbfh1 slots=2\r\n")) == "h1:2");
  CHECK(says(hostfile_error("h0\n\xef\xbb\xbfh1"), "hosts.txt:2: \"\\xef\\xbb\\xbfh1\" is no name of a host"));
  CHECK(says(hostfile_error("h1\xc2\xa0slots=2"), "hosts.txt:1: \"h1\\xc2\\xa0slots=2\" is no name of a host"));
}

TEST_CASE("047 a hostfile's mistakes are told with their line") {
  CHECK(says(hostfile_error("h1\nh2 slot=2\n"), "hosts.txt:2: unknown word \"slot=2\"; slots=N?"));
  CHECK(says(hostfile_error("h1\n\n# h1\nh1 slots=2 max_slots=2\n"),
             "hosts.txt:4: h1 has 3 slots, from hosts.txt:1 on, and may have 2"));
  CHECK(says(hostfile_error("h1 slots=x"), "hosts.txt:1: slots x: not a whole number"));
  CHECK(says(hostfile_error("h1 slots=99999999999"), "hosts.txt:1"));
  CHECK(says(hostfile_error("h1:2:3"), "hosts.txt:1"));
  CHECK(says(hostfile_error("h1 slots=4 max_slots=2"), "hosts.txt:1: slots=4 is more than max_slots=2"));
  CHECK(says(hostfile_error("h0\nh1:2 slots=3"), "hosts.txt:2: \"h1:2\" contradicts slots=3"));
  CHECK(says(hostfile_error("[::1]:2 slots=3"), "hosts.txt:1: \"[::1]:2\" contradicts slots=3"));
  CHECK(shown(parse_hostfile("f", "h1:2 slots=2\n[::1] slots=3")) == "h1:2 ::1:3");
  CHECK(says(hostfile_error("-oX"), "hosts.txt:1: \"-oX\" is no name of a host"));
  CHECK(says(hostfile_error("h1\x01"), "hosts.txt:1: \"h1\\x01\" is no name of a host"));
  CHECK(says(hostfile_error("# nobody\n"), "hosts.txt: it names no host"));
}

TEST_CASE("tasks fill the hosts in order") {
  const auto hosts = parse_hosts("h1:2,h2,h3:4");
  CHECK(shown(place_tasks(hosts, {}, {})) == "h1:0+2 h2:2+1 h3:3+4");
  CHECK(shown(place_tasks(hosts, 3, {})) == "h1:0+2 h2:2+1");
  CHECK(shown(place_tasks(hosts, 5, 2)) == "h1:0+2 h2:2+2 h3:4+1");
  CHECK(shown(place_tasks(hosts, {}, 1)) == "h1:0+1 h2:1+1 h3:2+1");
  CHECK(says(place_error("h1:2,h2", 4, {}), "-n 4: the hosts have room for 3 tasks: h1:2, h2:1"));
  CHECK(
      says(error_of([] { static_cast<void>(place_tasks(parse_hostfile("f", "h1 max_slots=2"), {}, 3)); }, Code::usage),
           "-ppn 3: f:1 allows h1 only 2 tasks"));
}

TEST_CASE("this host is known by its names and addresses") {
  for (const char* loopback : {"127.0.1.1", "::1", "[::1]", "localhost"})
    CHECK_MESSAGE(is_this_host(loopback), loopback);
  for (const net::HostAddress& one : net::host_addresses()) CHECK(is_this_host(one.address.host()));
  CHECK_FALSE(is_this_host("192.0.2.77"));
  CHECK_FALSE(is_this_host("2001:db8::77"));
  CHECK_FALSE(is_this_host("no one"));
  CHECK(is_this_host("localhost"));
  CHECK(is_this_host("127.0.0.1"));
  CHECK(is_this_host(this_host_name()));
  CHECK_FALSE(is_this_host("no-such-host.example"));
  CHECK_FALSE(is_this_host(""));
}

}  // namespace
}  // namespace ferry

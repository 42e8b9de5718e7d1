// Faults of jobs over TCP, by their numbers in README.md: strangers, floods, and connections with one end written here
// by hand, byte for byte, to send data that no ferry sends.
#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/net/socket.hpp"
#include "base/sha256.hpp"
#include "base/system/clock.hpp"
#include "comm/backends.hpp"
#include "comm/rendezvous.hpp"

namespace ferry {
namespace {

constexpr std::chrono::seconds kLimit{20};
const std::string kSecret = "what the tasks of a test know";

// The forms of comm/tcp/handshake.hpp and frame.hpp.
struct HelloBytes {
  std::array<char, 8> magic{'F', 'E', 'R', 'R', 'Y', 'T', 'C', 'P'};
  std::uint32_t version = 1, purpose = 1;
  std::int32_t from = 0, to = -1, tasks = 2;
  std::uint32_t reserved = 0;
  std::array<char, 16> nonce{};
};
struct ChallengeBytes {
  std::array<char, 8> magic{};
  std::uint64_t version = 0;
  std::array<char, 16> nonce{};
  Sha256 proof{};
};
struct TaskFactsBytes {
  sockaddr_in6 listens{};
  std::uint32_t deadline = 20000;
  std::array<char, 64> who{'f', 'a', 'l', 's', 'e'};
};
struct AnswerBytes {
  TaskFactsBytes facts;
  Sha256 proof{};
};
struct ReplyBytes {
  std::uint32_t code = 0, reserved = 0;
  std::uint64_t bytes = 0;
};
struct FrameBytes {
  std::uint32_t mark = 0x59524546, kind = 1, generation = 0, channel = 0;
  std::uint64_t number = 0, bytes = 0;
};
constexpr std::uint32_t kEagerKind = 1, kDataKind = 4, kCreditKind = 5, kTextKind = 6;

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Deadline limit() {
  return {system_clock(), kLimit};
}

net::Socket reach(const net::Address& address) {
  net::Socket socket;
  REQUIRE(net::connect_to(address, limit(), socket) == 0);
  return socket;
}

net::Address address_of(const RendezvousServer& server) {
  return net::resolve(server.address(), server.port(), "test").front();
}

void send(const net::Socket& socket, const std::string& bytes) {
  static_cast<void>(net::send_all(socket, std::as_bytes(std::span(bytes)), limit()));
}

template <class T>
std::optional<T> received(const net::Socket& socket) {
  T value;
  if (!net::receive_all(socket, std::as_writable_bytes(std::span(&value, 1)), limit())) return std::nullopt;
  return value;
}

/// Whether the other end closes the connection.
bool dropped(const net::Socket& socket) {
  const Deadline deadline = limit();
  char byte = 0;
  while (net::ready(socket, POLLIN, deadline)) {
    const ssize_t count = recv(socket.get(), &byte, 1, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN)) return true;
  }
  return false;
}

/// The connector's part of a handshake. Returns the sent bytes.
std::string shake_hands(const net::Socket& socket, const std::string& key, const HelloBytes& hello) {
  send(socket, bytes_of(hello));
  const auto challenge = received<ChallengeBytes>(socket);
  REQUIRE(challenge.has_value());
  AnswerBytes answer;
  sockaddr_in listens{};
  listens.sin_family = AF_INET;
  listens.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listens.sin_port = htons(9);  // nobody connects there
  std::memcpy(&answer.facts.listens, &listens, sizeof listens);
  answer.proof = hmac_sha256(key, "connector" + bytes_of(hello) + bytes_of(challenge->nonce) + bytes_of(answer.facts));
  send(socket, bytes_of(answer));
  return bytes_of(hello) + bytes_of(answer);
}

std::unique_ptr<Transport> task(int number, int tasks, const RendezvousServer& server,
                                std::chrono::milliseconds deadline = kLimit) {
  return tcp_transport({.task = number,
                        .tasks = tasks,
                        .address = server.address(),
                        .port = server.port(),
                        .served = true,
                        .secret = kSecret,
                        .deadline = deadline});
}

/// A job of two: both ends exchange a text. Returns whether it went well.
bool goes_well(const RendezvousServer& server) {
  const auto run = [&](int number) {
    const auto end = task(number, 2, server);
    const auto texts = end->exchange(std::to_string(number), limit());
    end->close();
    return texts == std::vector<std::string>{"0", "1"};
  };
  auto other = std::async(std::launch::async, run, 1);
  const bool here = run(0);
  return other.get() && here;
}

void await_missing(const RendezvousServer& server, const std::vector<int>& tasks) {
  const Deadline deadline = limit();
  while (server.missing() != tasks && !deadline.expired()) std::this_thread::yield();
  REQUIRE(server.missing() == tasks);
}

/// Task 1 of 2, connected to a task 0 that is ferry's.
net::Socket false_task(const RendezvousServer& server) {
  const net::Socket rendezvous = reach(address_of(server));
  HelloBytes hello;
  hello.from = 1;
  shake_hands(rendezvous, kSecret, hello);
  const auto reply = received<ReplyBytes>(rendezvous);
  REQUIRE(reply.has_value());
  REQUIRE(reply->code == 0);
  const auto job = received<std::array<char, 16>>(rendezvous);
  net::Address first;
  first.bytes = received<sockaddr_in6>(rendezvous).value();
  net::Socket socket = reach(first);
  hello.purpose = 2;
  hello.to = 0;
  shake_hands(
      socket,
      [&] {
        const Sha256 key = hmac_sha256(kSecret, "ferry job " + bytes_of(*job));
        return bytes_of(key);
      }(),
      hello);
  send(socket, bytes_of(FrameBytes{.kind = kTextKind}));  // that all are connected
  return socket;
}

/// The error of task 0, which waits for a message, when the other task sends these bytes.
Error error_at(const std::string& bytes) {
  const RendezvousServer server({.tasks = 2, .secret = kSecret});
  auto other = std::async(std::launch::async, [&] {
    const net::Socket socket = false_task(server);
    send(socket, bytes);
    CHECK(dropped(socket));
  });
  Error error(Code::ok, "");
  try {
    const auto end = task(0, 2, server);
    std::array<std::byte, 8> in{};
    const Ticket ticket = end->receive(1, 7, in);
    const Deadline deadline = limit();
    while (!end->done(ticket) && !deadline.expired()) end->idle(std::chrono::milliseconds(10));
  } catch (const Error& thrown) {
    error = thrown;
  }
  other.get();
  return error;
}

void check_damaged(const FrameBytes& frame, const std::string& why, const std::string& before = "") {
  const Error error = error_at(before + bytes_of(frame) + std::string(64, 'x'));
  CHECK(error.code() == Code::peer_lost);
  CHECK_MESSAGE(error.text().find("what arrives from task 1 is damaged: " + why) != std::string::npos, error.text());
}

std::optional<Error> error_of_task(int number, int tasks, const RendezvousServer& server,
                                   std::chrono::milliseconds deadline = kLimit) {
  try {
    static_cast<void>(task(number, tasks, server, deadline));
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

TEST_CASE("048 two tasks that claim one number are told, and all others") {
  const RendezvousServer server({.tasks = 3, .secret = kSecret});
  std::vector<std::future<std::optional<Error>>> all;
  for (const int number : {0, 1, 1})
    all.push_back(std::async(std::launch::async, [&server, number] { return error_of_task(number, 3, server); }));
  for (auto& error : all) {
    const auto thrown = error.get();
    REQUIRE(thrown.has_value());
    CHECK(thrown->code() == Code::usage);
    CHECK(thrown->text().starts_with("rendezvous: two tasks say that they are task 1"));
    CHECK(thrown->text().find("process " + std::to_string(getpid())) != std::string::npos);
  }
}

TEST_CASE("048 a process that connects again to a job that has been formed gets an error that says so") {
  const RendezvousServer server({.tasks = 2, .secret = kSecret});
  auto other = std::async(std::launch::async, [&server] { return task(1, 2, server, kLimit); });
  const auto first = task(0, 2, server, kLimit);
  const auto joined = other.get();
  const std::optional<Error> error = error_of_task(0, 2, server);
  REQUIRE(error);
  CHECK(error->code() == Code::usage);
  CHECK(error->text().starts_with("rendezvous: task 0 ("));
  CHECK(error->text().find("connects again, although its job has been formed") != std::string::npos);
  joined->close();
  first->close();
}

TEST_CASE("048 a task of another job size or number is told, and all others") {
  const RendezvousServer server({.tasks = 3, .secret = kSecret});
  const auto thrown = error_of_task(1, 4, server);
  REQUIRE(thrown.has_value());
  CHECK(thrown->code() == Code::usage);
  CHECK(thrown->text().find("says that it is number 1 of 4, in a job of 3") != std::string::npos);
}

TEST_CASE("049 a port in use") {
  const RendezvousServer first({.tasks = 2, .secret = kSecret});
  try {
    const RendezvousServer second({.port = first.port(), .tasks = 2, .secret = kSecret});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    CHECK(error.text().find(":" + std::to_string(first.port()) + " is in use") != std::string::npos);
    CHECK(error.text().find("MASTER_PORT") != std::string::npos);
  }
}

TEST_CASE("050 a task that never joins is named at the deadline") {
  const RendezvousServer server({.tasks = 4, .secret = kSecret});
  auto other = std::async(std::launch::async, [&] { return error_of_task(3, 4, server); });
  await_missing(server, {0, 1, 2});
  const auto thrown = error_of_task(0, 4, server, std::chrono::milliseconds(50));
  for (const auto& error : {thrown, other.get()}) {
    REQUIRE(error.has_value());
    CHECK(error->code() == Code::stalled);
    CHECK(error->text().starts_with("rendezvous: tasks 1 and 2 of 4 did not come before the deadline"));
  }
}

TEST_CASE("070 strangers are dropped, and the job is unharmed") {
  const RendezvousServer server({.tasks = 2, .secret = kSecret});
  const net::Socket talker = reach(address_of(server)), guesser = reach(address_of(server));
  send(talker, "GET / HTTP/1.1\r\nHost: here\r\n\r\n" + std::string(100, 'x'));
  CHECK(dropped(talker));
  // One that knows all but the secret.
  HelloBytes hello;
  hello.from = 1;
  shake_hands(guesser, "a guess at the secret", hello);
  CHECK(dropped(guesser));
  CHECK(server.missing() == std::vector<int>{0, 1});
  CHECK(goes_well(server));
}

TEST_CASE("070 a task with another secret is told") {
  const RendezvousServer server({.tasks = 2, .secret = "another one of this length"});
  const auto thrown = error_of_task(0, 2, server);
  REQUIRE(thrown.has_value());
  CHECK(thrown->code() == Code::usage);
  CHECK(thrown->text().find("it has another secret than this task") != std::string::npos);
  CHECK(thrown->text().find("FERRY_SECRET") != std::string::npos);
}

TEST_CASE("044 a task of another version is told") {
  const RendezvousServer server({.tasks = 2, .secret = kSecret});
  const net::Socket newer = reach(address_of(server));
  HelloBytes hello;
  hello.version = 2;
  send(newer, bytes_of(hello));
  const auto challenge = received<ChallengeBytes>(newer);
  REQUIRE(challenge.has_value());
  CHECK(challenge->version == 1);
  CHECK(dropped(newer));
  CHECK(goes_well(server));
}

TEST_CASE("050 a port whose owner does not answer") {
  const net::Socket silent = net::listen_at(net::resolve("127.0.0.1", 0, "test").front(), "test");
  try {
    static_cast<void>(tcp_transport({.task = 1,
                                     .tasks = 2,
                                     .address = "127.0.0.1",
                                     .port = net::local_address(silent).port(),
                                     .deadline = std::chrono::milliseconds(50)}));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Code::stalled);
    CHECK(error.text().find("what listens there does not answer") != std::string::npos);
  }
}

TEST_CASE("070 an address that others reach needs a secret") {
  for (const std::string secret : {"", "short"}) {
    try {
      static_cast<void>(tcp_transport({.tasks = 2, .address = "192.0.2.1", .port = 9, .secret = secret}));
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == Code::usage);
      CHECK(error.text().find("FERRY_SECRET") != std::string::npos);
    }
  }
}

TEST_CASE("071 a flood of half-open connections is bounded, and the job is unharmed") {
  const RendezvousServer server({.tasks = 2, .secret = kSecret});
  std::vector<net::Socket> flood;
  for (int i = 0; i < 300; ++i) flood.push_back(reach(address_of(server)));
  // Of 300 connections, the server keeps the newest ones, and closes the others.
  for (int i = 0; i < 200; ++i) CHECK(dropped(flood[i]));
  CHECK(goes_well(server));
}

TEST_CASE("072 a length over the bound is refused before anything is allocated") {
  check_damaged({.kind = kEagerKind, .channel = 7, .bytes = std::uint64_t{1} << 60},
                "a frame of 1152921504606846976 bytes");
  check_damaged({.kind = kTextKind, .number = 1, .bytes = std::uint64_t{1} << 40}, "a frame of 1099511627776 bytes");
  check_damaged({.kind = kDataKind, .channel = 7, .bytes = std::uint64_t{1} << 40}, "a frame of 1099511627776 bytes");
}

TEST_CASE("073 frames that are corrupt, repeated or of another generation are refused") {
  check_damaged({.mark = 0x46455259}, "a frame without ferry's mark");
  check_damaged({.kind = 77}, "a frame of the unknown kind 77");
  check_damaged({.kind = 0}, "a frame of the unknown kind 0");
  check_damaged({.generation = 3, .channel = 7, .bytes = 8}, "a frame of generation 3, not 0");
  check_damaged({.kind = kTextKind}, "word 0, not 1");
  check_damaged({.kind = kDataKind, .channel = 7, .bytes = 8},
                "8 bytes for message 0 of channel 7 that nobody waits for");
  check_damaged({.kind = kCreditKind, .bytes = 8}, "room for more bytes than were sent");
  const std::string early = bytes_of(FrameBytes{.channel = 9, .number = 5, .bytes = 1}) + "x";
  check_damaged({.channel = 9, .number = 5, .bytes = 1}, "message 5 of channel 9 once more", early);
}

TEST_CASE("073 more messages than there is room for are refused") {
  std::string flood;
  for (std::uint64_t number = 1; number < 70; ++number)
    flood += bytes_of(FrameBytes{.channel = 9, .number = number, .bytes = 65536}) + std::string(65536, 'x');
  const Error error = error_at(flood);
  CHECK(error.text().find("more messages than there is room for") != std::string::npos);
}

TEST_CASE("073 a handshake that was recorded is refused") {
  std::string recorded;
  {
    const RendezvousServer server({.tasks = 2, .secret = kSecret});
    const net::Socket socket = reach(address_of(server));
    HelloBytes hello;
    hello.from = 1;
    recorded = shake_hands(socket, kSecret, hello);
    await_missing(server, {0});
  }
  const RendezvousServer server({.tasks = 2, .secret = kSecret});
  const net::Socket socket = reach(address_of(server));
  send(socket, recorded);
  CHECK(dropped(socket));
  CHECK(server.missing() == std::vector<int>{0, 1});
  CHECK(goes_well(server));
}

TEST_CASE("060 a task that ends without a word is named") {
  const Error error = [] {
    const RendezvousServer server({.tasks = 2, .secret = kSecret});
    auto other = std::async(std::launch::async, [&] { static_cast<void>(false_task(server)); });
    try {
      const auto end = task(0, 2, server);
      static_cast<void>(end->exchange("here", limit()));
    } catch (const Error& thrown) {
      other.get();
      return thrown;
    }
    other.get();
    return Error(Code::ok, "");
  }();
  CHECK(error.code() == Code::peer_lost);
  CHECK(error.text().starts_with("task 1 failed first: the process ended before the job was done"));
}

}  // namespace
}  // namespace ferry

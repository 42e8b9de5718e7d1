// Rendezvous by notice: the content of the place, the server that an old notice points to, and a Redis that is written
// here, byte for byte.
#include <doctest/doctest.h>

#include <poll.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <initializer_list>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/net/socket.hpp"
#include "comm/backends.hpp"
#include "comm/rendezvous.hpp"
#include "tests/comm/world.hpp"
#include "tests/support/has.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry::test {
namespace {

using net::Address, net::Socket;
using Parts = std::initializer_list<std::string_view>;

constexpr std::chrono::seconds kLimit{20};
constexpr std::chrono::milliseconds kSoon{50};
const std::string kSecret = "what the tasks of a test know";
const std::string kJob(32, '7');

Deadline limit() {
  return {system_clock(), kLimit};
}

Socket loopback_listener() {
  return net::listen_at(net::resolve("127.0.0.1", 0, "test").front(), "test");
}

/// A port where nobody listens.
Address deserted() {
  return net::local_address(loopback_listener());
}

std::string notice(const std::string& address) {
  return "ferry rendezvous " + address + " " + kJob;
}

std::string address_of(const RendezvousServer& server) {
  return server.address() + ":" + std::to_string(server.port());
}

TcpOptions task(int number, const std::string& place, std::chrono::milliseconds deadline = kLimit) {
  return {.task = number,
          .tasks = 2,
          .rendezvous = place,
          .interface = "127.0.0.1",
          .secret = kSecret,
          .deadline = deadline};
}

bool goes_well(const TcpOptions& options) {
  const auto end = tcp_transport(options);
  const auto texts = end->exchange(std::to_string(options.task), limit());
  end->close();
  return texts == std::vector<std::string>{"0", "1"};
}

/// Tasks 0 and 1 of a job. Returns whether it went well.
bool both_go_well(const TcpOptions& first, const TcpOptions& second) {
  auto other = std::async(std::launch::async, goes_well, second);
  const bool well = goes_well(first);
  return other.get() && well;
}

/// An error that says all this, and what to do.
void check_error(const std::function<void()>& body, Parts parts, Code code = Code::usage) {
  const auto error = error_in(body);
  REQUIRE(error.has_value());
  CHECK(error->code() == code);
  CHECK(has(error->text(), "\n  try: "));
  for (const std::string_view part : parts) CHECK(has(error->text(), part));
}

void check_fails(const TcpOptions& options, Parts parts, Code code = Code::usage) {
  check_error([&] { static_cast<void>(tcp_transport(options)); }, parts, code);
}

/// A connection that somebody makes to the listener.
Socket accepted_by(const Socket& listener) {
  if (!net::ready(listener, POLLIN, limit())) throw Error(Code::stalled, "nobody connects");
  return net::accept_connection(listener).value();
}

std::string text_reply(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

const std::string kOk = "+OK\r\n", kNone = "$-1\r\n";
/// In the place of a reply: a new connection.
const std::string kNewConnection;

/// Answers each whole command with the next of the replies. The text that was put can be awaited.
class FakeRedis {
 public:
  explicit FakeRedis(std::vector<std::string> replies)
      : listener_(loopback_listener()),
        heard_(std::async(std::launch::async, [this, replies = std::move(replies)] { return serve(replies); })) {}

  [[nodiscard]] std::string place() const {
    return "redis://:pass%40word@" + net::local_address(listener_).str() + "/job";
  }
  [[nodiscard]] std::string put() { return put_.get_future().get(); }
  /// The commands, each a line of words, once it has answered all.
  [[nodiscard]] std::string heard() { return heard_.get(); }

 private:
  std::string serve(const std::vector<std::string>& replies) {
    Socket socket = accepted_by(listener_);
    std::string heard;
    for (const std::string& reply : replies) {
      if (reply == kNewConnection) {
        socket.close();
        socket = accepted_by(listener_);
        continue;
      }
      const std::vector<std::string> words = command(socket);
      for (const std::string& word : words) heard += word + (&word == &words.back() ? "\n" : "|");
      if (words[0] == "SET") put_.set_value(words[2]);
      if (!net::send_all(socket, std::as_bytes(std::span(reply)), limit())) throw Error(Code::peer_lost, "not heard");
    }
    return heard;
  }

  static std::vector<std::string> command(const Socket& socket) {
    const auto number = [&] {
      const std::string line = line_of(socket);
      return static_cast<std::size_t>(std::atoi(line.c_str() + 1));
    };
    std::vector<std::string> words(number());
    for (std::string& word : words) {
      const std::size_t bytes = number();
      word = line_of(socket);
      if (word.size() != bytes + 2) throw Error(Code::peer_lost, "another length than was said");
      word.resize(bytes);
    }
    if (words.empty()) throw Error(Code::peer_lost, "no command");
    return words;
  }

  static std::string line_of(const Socket& socket) {
    std::string line;
    for (char byte = 0; byte != '\n'; line += byte)
      if (!net::receive_all(socket, std::as_writable_bytes(std::span(&byte, 1)), limit()))
        throw Error(Code::peer_lost, "no line");
    return line;
  }

  Socket listener_;
  std::promise<std::string> put_;
  std::future<std::string> heard_;
};

void check_refused(std::vector<std::string> replies, Parts parts) {
  const FakeRedis redis(std::move(replies));
  check_fails(task(1, redis.place()), parts);
}

constexpr std::string_view kOtherSize = "says that it is number 1 of 3, in a job of 2";

/// Comes to a job of two tasks as one of three, which ends it.
void fail_with_other_size(const std::string& place) {
  TcpOptions options = task(1, place);
  options.tasks = 3;
  check_fails(options, {kOtherSize});
}

std::pair<std::optional<TcpOptions>, std::optional<Error>> launch(
    const std::vector<std::pair<const char*, const char*>>& variables) {
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  std::optional<TcpOptions> options;
  auto error = error_in([&] { options = tcp_launch(); });
  for (const auto& [name, value] : variables) unsetenv(name);
  return {std::move(options), std::move(error)};
}

TEST_CASE("the variables of a launch with a notice") {
  const auto [options, none] = launch({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"FERRY_RENDEZVOUS", "file:/shared/job"}});
  CHECK(!none);
  REQUIRE(options.has_value());
  CHECK(options->rendezvous == "file:/shared/job");
  CHECK(options->task == 1);
  CHECK(!launch({{"FERRY_RENDEZVOUS", "file:/shared/job"}}).first);

  const auto both =
      launch({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"FERRY_RENDEZVOUS", "file:/shared/job"}, {"MASTER_PORT", "29500"}});
  REQUIRE(both.second.has_value());
  CHECK(both.second->code() == Code::usage);
  CHECK(has(both.second->text(), "launch: both MASTER_PORT and FERRY_RENDEZVOUS are set"));

  const auto half = launch({{"RANK", "1"}, {"FERRY_RENDEZVOUS", "file:/shared/job"}});
  REQUIRE(half.second.has_value());
  CHECK(has(half.second->text(), "launch: RANK is set, WORLD_SIZE is not"));
}

TEST_CASE("the first launcher with complete variables numbers the tasks") {
  using Variables = std::vector<std::pair<const char*, const char*>>;
  const std::vector<Variables> all = {
      {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}},
      {{"PET_NODE_RANK", "1"}, {"PET_NNODES", "2"}, {"PET_MASTER_ADDR", "h"}, {"PET_MASTER_PORT", "2"}},
      {{"DMLC_TASK_ID", "1"}, {"DMLC_NUM_WORKER", "2"}, {"DMLC_TRACKER_URI", "h"}, {"DMLC_TRACKER_PORT", "3"}}};
  for (std::size_t first = 0; first < all.size(); ++first) {
    for (std::size_t other = 0; other < all.size(); ++other) {
      for (std::size_t stray = 0; stray < all[other].size(); ++stray) {
        Variables variables = all[first];
        if (other > first) variables.insert(variables.end(), all[other].begin(), all[other].end());
        if (other < first) variables.push_back(all[other][stray]);
        const auto [options, error] = launch(variables);
        REQUIRE(!error);
        REQUIRE(options.has_value());
        CHECK(options->port == static_cast<int>(first) + 1);
      }
    }
  }
}

TEST_CASE("a place that cannot be is told, without its password") {
  for (const auto& refused : std::initializer_list<std::pair<const char*, const char*>>{
           {"job", "FERRY_RENDEZVOUS=job: no place where tasks can meet"},
           {"/shared/job", "FERRY_RENDEZVOUS=/shared/job: no place"},
           {"http://host/key", "no place where tasks can meet"},
           {"rediss://:secret@host/key", "FERRY_RENDEZVOUS=rediss://***@host/key: no place"},
           {"file:", "not the absolute path of a file"},
           {"file:job", "FERRY_RENDEZVOUS=file:job: not the absolute path"},
           {"file:/shared/", "not the absolute path of a file"},
           {"redis://", "the KEY is missing"},
           {"redis://host", "the KEY is missing"},
           {"redis://:secret@host:6379/", "FERRY_RENDEZVOUS=redis://***@host:6379/: the KEY is missing"},
           {"redis:///key", "the HOST is missing"},
           {"redis://:6379/key", "the HOST is missing"},
           {"redis://host:/key", "the PORT is no number"},
           {"redis://host:0/key", "the PORT is no number"},
           {"redis://host:65536/key", "the PORT is no number"},
           {"redis://host:6379x/key", "the PORT is no number"},
           {"redis://user:secret@host/key", "no :PASSWORD before the @"},
           {"redis://:secret%4@host/key", "no :PASSWORD before the @"},
           {"redis://:secret%zz@host/key", "no :PASSWORD before the @"},
           {"redis://:sec/ret@host/key", "FERRY_RENDEZVOUS=redis://***@host/key: the PORT is no number"}}) {
    const char* const place = refused.first;
    const auto error = launch({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"FERRY_RENDEZVOUS", place}}).second;
    REQUIRE_MESSAGE(error.has_value(), place);
    CHECK(error->code() == Code::usage);
    CHECK(has(error->text(), refused.second));
    CHECK(has(error->text(), "\n  try: "));
    CHECK(error->text().find("sec") == std::string::npos);
  }
  for (const char* place :
       {"file:/job", "redis://host/key", "redis://:secret@host:1/a/b@c", "redis://[::1]/key", "redis://[::1]:70/key"})
    CHECK_MESSAGE(!launch({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"FERRY_RENDEZVOUS", place}}).second, place);
}

TEST_CASE("jobs meet by one file after another, which is gone afterwards") {
  const TempFolder folder;
  const std::string place = "file:" + folder / "job";
  for (const std::string& old : {std::string(), notice(deserted().str())}) {
    std::ofstream(folder / "job") << old;
    CHECK(both_go_well(task(0, place), task(1, place)));
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("task 0 that fails takes its notice away") {
  const TempFolder folder;
  const std::string place = "file:" + folder / "job";
  auto other = std::async(std::launch::async, [&] { fail_with_other_size(place); });
  check_fails(task(0, place), {kOtherSize});
  other.get();
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("two processes with number 0, and jobs at one place, are told in both") {
  const TempFolder folder;
  const std::string place = "file:" + folder / "job";
  auto first =
      std::async(std::launch::async, [&] { check_fails(task(0, place), {"two tasks say that they are task 0"}); });
  while (!std::filesystem::exists(folder / "job")) std::this_thread::yield();
  check_fails(task(0, place), {"two tasks say that they are task 0", "give each task another RANK"});
  first.get();
}

TEST_CASE("two processes with number 0 that publish at the same moment are told in both") {
  FakeRedis redis({kOk, kNone, kOk, ":1\r\n"});
  auto first = std::async(std::launch::async,
                          [&] { check_fails(task(0, redis.place()), {"two tasks say that they are task 0"}); });
  const FakeRedis again({kOk, kNone, kNone, text_reply(redis.put())});  // it has a text between GET and SET
  check_fails(task(0, again.place()), {"two tasks say that they are task 0", "give each task another RANK"});
  first.get();
}

TEST_CASE("tasks with another secret are told on both sides, also once the notice is gone") {
  const TempFolder folder;
  const std::string place = "file:" + folder / "job";
  constexpr std::chrono::seconds kEnoughToMeet{3};
  TcpOptions other = task(1, place, kEnoughToMeet + kEnoughToMeet);
  other.secret = "another one of this length";
  auto first = std::async(std::launch::async, [&] {
    check_fails(task(0, place, kEnoughToMeet), {"task 1 of 2 did not come", "do not know the secret of this job"},
                Code::stalled);
  });
  while (!std::filesystem::exists(folder / "job")) std::this_thread::yield();
  std::stringstream notice;
  notice << std::ifstream(folder / "job").rdbuf();
  auto second = std::async(std::launch::async, [&] {
    check_fails(other, {"where another job answers, or one with another secret"}, Code::stalled);
  });
  first.get();
  std::ofstream(folder / "job") << notice.str();  // where nobody listens now
  second.get();
}

TEST_CASE("task 0 that fails leaves the notice of another job") {
  FakeRedis redis({kOk, kNone, kOk, ":0\r\n"});
  auto other = std::async(std::launch::async, [&] {
    const FakeRedis again({kOk, text_reply(redis.put())});
    fail_with_other_size(again.place());
  });
  check_fails(task(0, redis.place()), {kOtherSize});
  other.get();
  CHECK(redis.heard().find("\nDEL|") == std::string::npos);
}

TEST_CASE("a folder that is not there, or is no place for files") {
  const TempFolder folder;
  for (const int number : {0, 1})
    check_fails(task(number, "file:" + folder / "no/job"), {"/no/job: ", "the folder cannot be opened: No such file"});
  check_fails(task(0, "file:/proc/ferry-job"), {"rendezvous by file:/proc/ferry-job: ", "cannot be written", "task 0"});
  std::filesystem::create_directory(folder / "folder");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const int number : {0, 1})
    for (const char* name : {"folder", "pipe"})
      check_fails(task(number, "file:" + folder / name), {name, "is no regular file"});
}

TEST_CASE("what is no notice is told, and not replaced") {
  const TempFolder folder;
  const std::string path = folder / "data";
  for (const std::string& text :
       {std::string("x"), std::string(100'000, 'x'), std::string("ferry rendezvous"),
        std::string("ferry rendezvous 10.0.0.1:29500"), std::string("ferry rendezvous 10.0.0.1:29500 "),
        std::string("ferry rendezvous 10.0.0.1:0 7"), std::string("ferry rendezvous host:29500 7"),
        std::string("ferry rendezvous 10.0.0.1:29500 7 7"), std::string("other rendezvous 10.0.0.1:29500 7")}) {
    std::ofstream(path) << text;
    for (const int number : {0, 1})
      check_fails(task(number, "file:" + path),
                  {"rendezvous by file:" + path + ": ", "another text than a notice of ferry", "remove it"});
    CHECK(std::filesystem::file_size(path) == text.size());
  }
}

TEST_CASE("an old notice is looked past") {
  const RendezvousServer other_secret({.tasks = 2, .secret = "another one of this length", .job = kJob});
  const RendezvousServer other_job({.tasks = 2, .secret = kSecret, .job = std::string(32, '8')});
  const RendezvousServer no_job({.tasks = 2, .secret = kSecret});
  const RendezvousServer right({.tasks = 2, .secret = kSecret, .job = kJob});
  const Socket listener = loopback_listener();
  auto other_program = std::async(std::launch::async, [&] {
    const Socket socket = accepted_by(listener);
    const std::string answer(1000, 'x');
    static_cast<void>(net::send_all(socket, std::as_bytes(std::span(answer)), limit()));
  });
  std::vector<std::string> replies{kOk, kNone};
  for (const std::string& address : {deserted().str(), net::local_address(listener).str(), address_of(other_secret),
                                     address_of(other_job), address_of(no_job), address_of(right)})
    replies.push_back(text_reply(notice(address)));
  FakeRedis redis(replies), other_redis({kOk, replies.back()});
  TcpOptions first = task(0, other_redis.place());
  first.served = true;
  CHECK(both_go_well(first, task(1, redis.place())));
  for (const RendezvousServer* server : {&other_secret, &other_job, &no_job})
    CHECK(server->missing() == std::vector<int>{0, 1});
}

TEST_CASE("what was looked for is told at the deadline") {
  const TempFolder folder;
  const std::string path = folder / "job";
  TcpOptions late = task(1, "file:" + path, kSoon);
  check_fails(
      late,
      {"rendezvous by file:" + path + ": task 0 has put up no notice there before the deadline", "FERRY_RENDEZVOUS"},
      Code::stalled);
  const std::string nobody = deserted().str();
  std::ofstream(path) << notice(nobody);
  check_fails(late, {"rendezvous by file:" + path + ": the notice there says " + nobody + ", where nobody listens: "},
              Code::stalled);
  const RendezvousServer other({.tasks = 2, .secret = kSecret});
  std::ofstream(path) << notice(address_of(other));
  check_fails(late, {address_of(other) + ", where another job answers, or one with another secret", "FERRY_SECRET"},
              Code::stalled);
  std::ofstream(path) << notice("192.0.2.1:9");
  late.secret = "";
  check_fails(late, {"192.0.2.1:9 can be reached from other machines, and this task has no secret", "FERRY_SECRET"},
              Code::stalled);
  late.secret = "short";
  check_fails(late, {"FERRY_SECRET has 5 characters"});
}

TEST_CASE("the commands that Redis hears of task 0") {
  FakeRedis redis({kOk, kNone, kOk, kNewConnection, kOk, ":1\r\n"});
  TcpOptions first = task(0, redis.place());
  first.interface = "";
  auto well = std::async(std::launch::async, goes_well, first);
  const std::string put = redis.put();
  const FakeRedis other({kOk, text_reply(put)});
  CHECK(goes_well(task(1, other.place())));
  CHECK(well.get());
  CHECK(has(put, "ferry rendezvous 127.0.0.1:"));
  const std::string heard = redis.heard(), before = "AUTH|pass@word\nGET|job\nSET|job|" + put + "|EX|";
  CHECK(heard.starts_with(before));
  CHECK(has(heard, "\nAUTH|pass@word\nEVAL|if redis.call('GET',KEYS[1])==ARGV[1]"));
  CHECK(heard.ends_with("|1|job|" + put + "\n"));
  const int seconds = std::atoi(heard.c_str() + before.size());
  CHECK(seconds > 5);
  CHECK(seconds <= 25);
}

TEST_CASE("what Redis refuses is told by name") {
  check_refused({"-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
                {"Redis has another password", "%40 is @"});
  check_refused({"-ERR invalid password\r\n"}, {"Redis has another password"});
  check_refused({"-ERR Client sent AUTH, but no password is set\r\n"},
                {"Redis has no password", "leave out :PASSWORD@"});
  check_refused({kOk, "-NOAUTH Authentication required.\r\n"},
                {"Redis wants a password", "redis://:PASSWORD@127.0.0.1:"});
  check_refused({kOk, "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"},
                {"/job: the key holds no text", "choose another KEY"});
  check_refused({kOk, "-LOADING Redis is loading\x1b[31m\r\n"}, {"Redis answers: LOADING Redis is loading\\x1b[31m"});
}

TEST_CASE("a reply that is none is refused, whatever its length says") {
  for (const char* reply : {"HTTP/1.1 400 Bad Request\r\n", "\r\n", "*1\r\n", ":1\r\n", "+OK\r\n", "$\r\n", "$-2\r\n",
                            "$x\r\n", "$3x\r\n", "$99999999999999999999999\r\n", "$3\r\nabcdef"})
    check_refused({kOk, reply}, {"the server there is not Redis"});
  check_refused({kOk, "+" + std::string(10'000, 'x')}, {"the server there is not Redis"});
  check_refused({kOk, "$9223372036854775807\r\n"}, {"no notice of ferry, but 9223372036854775807 bytes"});
  check_refused({kOk, "$257\r\n"}, {"no notice of ferry, but 257 bytes"});
  check_refused({kOk, text_reply("a\r\nb")}, {"another text than a notice of ferry: \"a\\r\\nb\""});
  check_refused({"+O"}, {"Redis closes the connection"});
  check_refused({kOk}, {"Redis closes the connection"});
}

TEST_CASE("a Redis that is not there, or does not answer") {
  const std::string nobody = deserted().str();
  for (const int number : {0, 1})
    check_fails(task(number, "redis://:secret@" + nobody + "/job"),
                {"rendezvous by redis://" + nobody + "/job: Redis cannot be reached: Connection refused",
                 "see whether Redis runs"});
  const Socket silent = loopback_listener();
  check_fails(task(0, "redis://" + net::local_address(silent).str() + "/job", kSoon),
              {"rendezvous by redis://" + net::local_address(silent).str() + "/job: Redis "}, Code::stalled);
}

}  // namespace
}  // namespace ferry::test

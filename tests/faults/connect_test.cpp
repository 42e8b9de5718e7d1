// Faults while tasks connect, by their numbers in README.md.
#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <thread>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "comm/transport.hpp"
#include "executor/cluster.hpp"
#include "executor/job/build.hpp"
#include "tests/support/forwarded_transport.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// A transport that changes the texts its task exchanges, to simulate a task that runs another build of ferry.
class Foreign final : public test::ForwardedTransport {
 public:
  using Change = std::function<std::string(std::string)>;
  Foreign(std::unique_ptr<Transport> inner, Change change)
      : ForwardedTransport(std::move(inner)), change_(std::move(change)) {}

  std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) override {
    return ForwardedTransport::exchange(change_(std::string(mine)), deadline);
  }

 private:
  Change change_;
};

Error connected(std::unique_ptr<Transport> end) {
  std::vector<std::unique_ptr<Transport>> local;
  local.push_back(std::move(end));
  try {
    static_cast<void>(Cluster::over(std::move(local)));
    return {Code::ok, ""};
  } catch (const Error& error) {
    return error;
  }
}

/// The errors of the three tasks of a job in which `change` changes how task 2 introduces itself.
std::vector<Error> with_foreign_task(const Foreign::Change& change) {
  auto ends = inproc_transports(3);
  ends[2] = std::make_unique<Foreign>(std::move(ends[2]), change);
  std::vector<Error> errors(3, Error(Code::bug, ""));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) threads.emplace_back([&, t] { errors[t] = connected(std::move(ends[t])); });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

TEST_CASE("044 equal builds meet") {
  for (const Error& error : with_foreign_task([](std::string text) { return text; })) CHECK(error.code() == Code::ok);
}

TEST_CASE("044 builds or protocol versions that differ are named on all tasks") {
  const std::string ours = build_text();
  for (const auto& [part, other] : {std::pair("protocol 1", "protocol 2"), std::pair("ferry 0.", "ferry 7.")}) {
    const auto change = [&, what = part, with = other](std::string text) { return replaced(text, what, with); };
    for (const Error& error : with_foreign_task(change)) {
      CHECK(error.code() == Code::plan);
      CHECK(test::says(error, "the tasks run different builds of ferry"));
      CHECK(test::says(error, "task 0 is " + ours));
      CHECK(test::says(error, "task 2 is " + replaced(ours, part, other)));
      CHECK(test::says(error, "the same build on all hosts"));
    }
  }
}

TEST_CASE("044 what is no introduction of ferry is refused, however it looks") {
  for (const std::string& text : {std::string(), std::string("GET / HTTP/1.1\r\n"), std::string(4096, '\xff')})
    for (const Error& error : with_foreign_task([&](const std::string&) { return text; })) {
      CHECK(error.code() == Code::plan);
      CHECK(test::says(error, "task 2 is something else, of " + std::to_string(text.size()) + " bytes"));
    }
}

}  // namespace
}  // namespace ferry

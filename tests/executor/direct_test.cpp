#include <doctest/doctest.h>

#include <barrier>
#include <cfenv>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/system/log.hpp"
#include "comm/transport.hpp"
#include "executor/cluster.hpp"
#include "executor/session/session.hpp"
#include "tests/support/forwarded_transport.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

TEST_CASE("direct calls of one task give its own values") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""});
  std::vector<float> values = {1.5F, -2.0F, 0.0F};
  cluster.all_reduce<float>(values);
  cluster.all_reduce_mean<float>(values);
  cluster.broadcast<float>(values);
  CHECK(values == std::vector<float>{1.5F, -2.0F, 0.0F});
  CHECK(cluster.all_gather<float>(values) == values);
  CHECK(cluster.all_gather<float>({}).empty());
  CHECK_THROWS_WITH_AS(cluster.broadcast<float>(values, 1), "broadcast: root 1 is not one of the 1 tasks", Error);
}

TEST_CASE("direct calls refuse sizes that do not fit, overlaps and other threads") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""});
  std::vector<float> three = {1, 2, 3}, two = {4, 5};
  CHECK(test::error_of([&] { cluster.all_gather<float>(three, two); }).text() ==
        "all_gather: the output has 2 elements, where 3 fit 3 elements of input on 1 tasks");
  CHECK(test::error_of([&] { cluster.all_to_all<float>(three, three); }).text() ==
        "all_to_all: the output overlaps the input");
  CHECK(test::says(test::error_of([&] { cluster.all_reduce<float>(three, Reduce::none); }), "Reduce::none"));
  CHECK(test::error_of([&] { cluster.send<float>(three, 0); }).text() == "send: task 0 is this task itself");
  CHECK(test::error_of([&] { cluster.receive<float>(three, 7); }).text() ==
        "receive: task 7 is not one of the 1 tasks");
  std::string said;
  std::thread([&] { said = test::error_of([&] { cluster.all_reduce<float>(three); }).text(); }).join();
  CHECK(said.starts_with("a direct call from another thread than the one that made the Cluster"));
  CHECK(three == std::vector<float>{1, 2, 3});
}

TEST_CASE("groups, requests and lent memory of one task") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""});
  const Group group = cluster.split(3);
  CHECK(group.size() == 1);
  CHECK(group.rank() == 0);
  LentBuffer<float> lent = group.buffer<float>(2);
  lent[0] = 1.5F;
  Request request = group.start_all_reduce(lent.span());
  CHECK(request.test());
  request.wait();
  std::vector<float> part(2);
  group.reduce_scatter<float>(lent.span(), part);
  CHECK(part == std::vector<float>{1.5F, 0});
  group.barrier();
}

TEST_CASE("a buffer larger than the address space is refused") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""});
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX / 4, SIZE_MAX / 8 + 2}) {
    const Error error = test::error_of([&] { static_cast<void>(cluster.buffer<double>(size)); });
    CHECK(error.code() == Code::resource);
    CHECK(test::says(error, "is larger than the address space"));
  }
}

/// Runs `body` on two tasks that are threads; `body` has the only handle to its Cluster.
void in_two_tasks(const std::function<void(Cluster cluster)>& body,
                  std::vector<std::unique_ptr<Transport>> ends = inproc_transports(2)) {
  std::vector<std::thread> tasks;
  for (auto& end : ends)
    tasks.emplace_back([&] {
      std::vector<std::unique_ptr<Transport>> local;
      local.push_back(std::move(end));
      body(Cluster::over(std::move(local), ClusterOptions{.threads = 1, .jobs = ""}));
    });
  for (std::thread& task : tasks) task.join();
  log_task(-1);
}

/// A transport that counts the tests of its messages.
class Counting final : public test::ForwardedTransport {
 public:
  Counting(std::unique_ptr<Transport> inner, std::int64_t& tests)
      : ForwardedTransport(std::move(inner)), tests_(tests) {}

  bool done(Ticket ticket) override {
    ++tests_;
    return ForwardedTransport::done(ticket);
  }

 private:
  std::int64_t& tests_;
};

TEST_CASE("the cost of starting a request does not grow with the requests in flight") {
  constexpr std::size_t kRequests = 500;
  auto ends = inproc_transports(2);
  std::int64_t tests = 0;
  ends[0] = std::make_unique<Counting>(std::move(ends[0]), tests);
  std::barrier started(2);
  in_two_tasks(
      [&](Cluster cluster) {
        const bool first = cluster.rank() == 0;
        std::vector<float> values(2 * kRequests, 1);
        std::vector<Request> requests;
        if (!first) started.arrive_and_wait();  // nothing that the first task starts can be done before
        const std::int64_t before = tests;
        for (std::size_t i = 0; i < kRequests; ++i) {
          const std::span<float> sum(&values[2 * i], 1), message(&values[2 * i + 1], 1);
          requests.push_back(cluster.start_all_reduce(sum));
          requests.push_back(first ? cluster.start_send<float>(message, 1) : cluster.start_receive<float>(message, 0));
        }
        if (first) {
          CHECK(tests - before < 20 * std::ssize(requests));
          started.arrive_and_wait();
        }
        for (Request& request : requests) request.wait();
        CHECK(values.front() == 2);
        CHECK(values.back() == 1);
      },
      std::move(ends));
}

TEST_CASE("a request may outlive its cluster") {
  in_two_tasks([](Cluster cluster) {
    std::vector<float> values = {1, 2};
    std::optional<Cluster> ends(std::move(cluster));
    Request request = ends->start_all_reduce(std::span<float>(values));
    ends.reset();
    request.wait();
    CHECK(values == std::vector<float>{2, 4});
  });
}

TEST_CASE("spans that are cut otherwise on another task are named") {
  in_two_tasks([](Cluster cluster) {
    std::vector<float> a(8, 1), b(2, 2);
    const bool first = cluster.rank() == 0;
    const std::vector<std::span<float>> spans = {first ? a : b, first ? b : a};
    const Error error = test::error_of([&] { cluster.all_reduce_each<float>(spans); });
    CHECK((error.code() == Code::plan || error.code() == Code::peer_lost));  // the second: the other told it first
    CHECK(test::says(error, "make different direct calls"));
    CHECK(a == std::vector<float>(8, 1));
  });
}

TEST_CASE("a mean has the same bits whatever a task's program has set for its arithmetic") {
  in_two_tasks([](Cluster cluster) {
    const float least = std::numeric_limits<float>::denorm_min();
    std::vector<float> values(1, cluster.rank() == 0 ? least : 0.0F);
    if (cluster.rank() == 0) std::fesetround(FE_UPWARD);
    cluster.all_reduce_mean(std::span<float>(values));
    std::fesetround(FE_TONEAREST);
    CHECK(values[0] == 0);  // half of the least number rounds to the even neighbour
    values[0] = cluster.rank() == 0 ? 0.1F : 0.2F;
    const float expected = (0.1F + 0.2F) / 2;
    if (cluster.rank() == 1) std::fesetround(FE_UPWARD);
    cluster.all_reduce_mean(std::span<float>(values));
    std::fesetround(FE_TONEAREST);
    CHECK(values[0] == expected);
  });
}

TEST_CASE("a number in the options of a cluster that is out of its range is named") {
  const auto refused = [](const ClusterOptions& options) {
    const Error error = test::error_of([&] { static_cast<void>(Cluster::connect(options)); });
    CHECK(error.code() == Code::usage);
    return error.text();
  };
  CHECK(refused({.tasks = -1}) == "ClusterOptions::tasks: -1 is not from 0 to 65536");
  CHECK(refused({.threads = -2}) == "ClusterOptions::threads: -2 is not from 0 to 4096");
  CHECK(refused({.memory_bytes = UINT64_MAX}).starts_with("ClusterOptions::memory_bytes: 18446744073709551615 is not"));
  CHECK(refused({.deadline = Milliseconds(0)}) == "ClusterOptions::deadline: 0 s is not from 0.001 s to 1000000000 s");
  CHECK(refused({.invariant = -1}) == "ClusterOptions::invariant: -1 is not from 0 to 65536");
  CHECK(refused({.hosts = -3}) == "ClusterOptions::hosts: -3 is not from 0 to 65536");
}

TEST_CASE("a number in the options of a session that is out of its range is named") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1});
  const auto refused = [&](const SessionOptions& options) {
    return test::error_of([&] { const Session session(Graph(), cluster, options); }).text();
  };
  CHECK(refused({.plan = {.bucket_bytes = -1}}).starts_with("PlanningOptions::bucket_bytes: -1 is not from 0 to"));
  CHECK(refused({.plan = {.fuse_from = -1}}).starts_with("PlanningOptions::fuse_from: -1 is not from 0 to"));
  CHECK(refused({.run = {.check_replicas = -1}}).starts_with("ExecutionOptions::check_replicas: -1 is not from 0 to"));
}

TEST_CASE("a task's number on its host counts the tasks before it there") {
  const Cluster one = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""});
  CHECK(one.local_rank() == 0);
  CHECK(one.local_size() == 1);
  const Cluster spread = Cluster::connect(ClusterOptions{.tasks = 5, .threads = 1, .jobs = "", .hosts = 2});
  CHECK(spread.local_rank() == 0);
  CHECK(spread.local_size() == 3);
}

TEST_CASE("direct calls need one task in each process") {
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 3, .threads = 1, .jobs = ""});
  std::vector<double> values = {1};
  try {
    cluster.all_reduce<double>(values);
    FAIL("all_reduce spoke for three tasks");
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    CHECK(error.text().starts_with(
        "this process runs 3 of the job's 3 tasks; direct calls need one process for each task"));
  }
}

}  // namespace
}  // namespace ferry

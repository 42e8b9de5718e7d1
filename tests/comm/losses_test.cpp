// A job that continues without lost tasks (JobMembership::spare).
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/comm/world.hpp"

namespace ferry {
namespace {

/// Gives the transport the losses in `found`, and records the losses that the transport reports.
class Told final : public Losses {
 public:
  std::vector<Loss> found_lost() override { return std::exchange(found, {}); }
  void lost(const Loss& loss) override { tasks.push_back(loss.task); }

  std::vector<Loss> found;
  std::vector<int> tasks;
};

/// The tasks except the last one continue after the last one is lost. The caller decides how it ends.
void go_on(Transport& end, Told& told) {
  const int last = end.tasks() - 1;
  std::vector<std::byte> sent(1 << 20), received(1 << 20);
  if (end.task() == 0) {
    test::finish(end, end.send(last, 3, sent));
    test::finish(end, end.receive(last, 4, received));
    CHECK(end.is_lost(last));
    test::finish(end, end.send(last, 3, sent));  // from the first one on
  }
  for (const std::string said : {"once", "again"}) {
    const std::vector<std::string> all = end.exchange(said + std::to_string(end.task()), test::seconds(20));
    for (int task = 0; task < end.tasks(); ++task)
      CHECK(all[task] == (task == last ? "" : said + std::to_string(task)));
  }
  CHECK(told.tasks == std::vector{last});
  end.membership()->spare({}, told, test::seconds(20));
  CHECK(end.is_lost(last));
  CHECK(end.exchange("", test::seconds(20)).size() == static_cast<std::size_t>(end.tasks()));
  end.close();
}

/// Runs body(end, told, last) on each task of jobs of several, once they can do without their last task.
template <class Body>
void with_last_spared(const Body& body) {
  test::on_jobs(
      [&](Transport& end) {
        Told told;
        const int last = end.tasks() - 1;
        if (last == 0) return end.close();
        end.membership()->spare(std::array{last}, told, test::seconds(20));
        body(end, told, last);
      },
      false);
}

/// The error of an exchange on this task.
Error error_of_exchange(Transport& end) {
  const auto error = test::error_in([&] { static_cast<void>(end.exchange("", test::seconds(20))); });
  REQUIRE(error);
  return *error;
}

TEST_CASE("a spared task that ends without a word is lost, and the others go on") {
  with_last_spared([](Transport& end, Told& told, int last) {
    if (end.task() < last) go_on(end, told);
  });
}

TEST_CASE("a spared task that another one cannot hear is told so, and the others go on") {
  with_last_spared([](Transport& end, Told& told, int last) {
    if (end.task() == 0) told.found.push_back({last, "it cannot be heard"});
    if (end.task() < last) return go_on(end, told);
    CHECK(error_of_exchange(end).code() == Code::peer_lost);
    CHECK(told.tasks.empty());
  });
}

TEST_CASE("a task that is not spared any more ends the job") {
  with_last_spared([](Transport& end, Told& told, int last) {
    end.membership()->spare({}, told, test::seconds(20));
    if (end.task() == last) return;
    CHECK(error_of_exchange(end).code() == Code::peer_lost);
    CHECK(!end.is_lost(last));
  });
}

TEST_CASE("a message to or from a task that has left in order is an error at once") {
  test::on_jobs([](Transport& end) {
    const int last = end.tasks() - 1;
    if (end.task() == last) return;
    std::vector<std::byte> bytes(1 << 20);
    for (const bool sends : {false, true}) {
      const auto error =
          test::error_in([&] { test::finish(end, sends ? end.send(last, 3, bytes) : end.receive(last, 3, bytes)); });
      REQUIRE(error);
      CHECK(error->code() == Code::peer_lost);
      CHECK(error->text().starts_with("a message: task " + std::to_string(last) + " has finished"));
    }
  });
}

TEST_CASE("a spared task's own error ends the job") {
  with_last_spared([](Transport& end, Told&, int last) {
    if (end.task() == last) return end.abort({last, Code::numeric, "NaN"});
    static_cast<void>(error_of_exchange(end));
    CHECK(end.failure()->code == Code::numeric);
  });
}

}  // namespace
}  // namespace ferry

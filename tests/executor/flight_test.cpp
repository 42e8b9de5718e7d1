#include <doctest/doctest.h>

#include <filesystem>
#include <thread>

#include "executor/observe/flight_file.hpp"
#include "executor/observe/flight_recorder.hpp"
#include "executor/session/session.hpp"
#include "executor/watch/watch.hpp"
#include "kernels/kernel.hpp"
#include "ops/build.hpp"
#include "ops/math/math.hpp"
#include "tests/support/errors_of.hpp"
#include "tests/support/has.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;
using test::has;

FlightRecord record_of(std::int64_t events) {
  FlightRecord record;
  for (std::int64_t i = 0; i < events; ++i)
    record.push_back({.age = Duration(events - i), .thread = static_cast<int>(i % 2), .text = i % 3 == 0 ? "a" : "bb"});
  return record;
}

bool same(const FlightRecord& a, const FlightRecord& b) {
  return std::ranges::equal(a, b, [](const FlightEvent& x, const FlightEvent& y) {
    return x.age == y.age && x.thread == y.thread && x.text == y.text;
  });
}

TEST_CASE("a recorder keeps the last events") {
  FlightRecorder recorder(0, 1);
  CHECK(recorder.record(system_clock().now()).empty());
  const auto more = static_cast<std::int64_t>(FlightRecorder::kKept) + 5;
  for (std::int64_t step = 0; step < more; ++step) recorder.begins_step(step);
  const FlightRecord record = recorder.record(system_clock().now());
  // The oldest may be replaced at any time.
  REQUIRE(record.size() == FlightRecorder::kKept - 1);
  CHECK(record.front().text == "step 6");
  CHECK(record.back().text == "step " + std::to_string(more - 1));
  CHECK(record.front().age >= record.back().age);
}

TEST_CASE("what is read from a recorder while it records is whole") {
  FlightRecorder recorder(0, 1);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    for (int i = 0; i < 50; ++i) {
      const FlightRecord record = recorder.record(system_clock().now());
      for (std::size_t e = 1; e < record.size(); ++e)
        if (std::stoll(record[e].text.substr(5)) != std::stoll(record[e - 1].text.substr(5)) + 1) FAIL("a gap");
    }
    done = true;
  });
  for (std::int64_t step = 0; !done; ++step) recorder.begins_step(step);
  reader.join();
}

TEST_CASE("a record comes back from its bytes, and damaged bytes are refused") {
  for (const std::int64_t events : {0, 1, 1000})
    CHECK(same(unpacked_record(packed(record_of(events))), record_of(events)));
  const std::string bytes = packed(record_of(10));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_AS(static_cast<void>(unpacked_record(bytes.substr(0, size))), Error);
}

TEST_CASE("a record is gathered over a network that loses, doubles and turns round datagrams") {
  class Source final : public FlightSource {
   public:
    [[nodiscard]] FlightRecord record(TimePoint) const override { return record_of(3000); }
  } source;
  struct Side {
    explicit Side(int self) : exchange({0, 1, 1}, self, [] {}) {}
    FlightExchange exchange;
    std::vector<std::string> inbox;
  } sides[2] = {Side(0), Side(1)};
  sides[1].exchange.set_source(1, source);
  std::atomic<bool> gathered{false};
  std::vector<FlightRecord> records;
  std::thread gathering([&] {
    records = sides[0].exchange.gather(std::array{1, 2}, 60s);
    gathered = true;
  });
  TimePoint now = system_clock().now();
  std::uint32_t dice = 1;
  const FlightExchange::Send send = [&](int process, const std::string& datagram) {
    dice = dice * 1664525 + 1013904223;
    if (dice >> 30U == 0) return;
    auto& inbox = sides[process].inbox;
    inbox.insert(dice >> 30U == 1 ? inbox.begin() : inbox.end(), datagram);
    if (dice >> 30U == 2) inbox.push_back(datagram);
  };
  while (!gathered) {
    now += FlightGather::kRepeatAfter;
    for (Side& side : sides) side.exchange.send_due(now, send);
    for (Side& side : sides)
      for (const std::string& datagram : std::exchange(side.inbox, {})) {
        BlobReader reader(datagram);
        const std::int64_t kind = reader.number();
        CHECK(side.exchange.take(kind, reader, send));
      }
  }
  gathering.join();
  CHECK(records[0].empty());
  CHECK(same(records[1], record_of(3000)));
  CHECK(records[2].empty());
}

TEST_CASE("the lowest process that goes on gathers from the others, which wait for it") {
  auto ends = inproc_transports(2);
  const auto play = [&](int task) {
    Watch watch({.processes = {0, 1}, .self = task, .deadline = 60s, .gathered = true}, *ends[task],
                Deadline(system_clock(), 60s));
    FlightRecorder recorder(task, 1);
    for (int step = 0; step < 500; ++step) recorder.begins_step(step);
    watch.flights().set_source(task, recorder);
    // Until each has heard of the other.
    static_cast<void>(ends[task]->exchange("", Deadline(system_clock(), 60s)));
    CHECK(watch.gathers() == (task == 0));
    if (task == 0) {
      const std::vector<FlightRecord> records = watch.flights().gather(watch.answering(), 60s);
      CHECK(records[0].empty());
      REQUIRE(records[1].size() == 500);
      CHECK(records[1].back().text == "step 499");
      watch.flights().end();
    } else {
      CHECK(watch.flights().await_end(60s));
    }
    static_cast<void>(ends[task]->exchange("", Deadline(system_clock(), 60s)));
    watch.flights().remove_source(recorder);
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  for (auto& end : ends) end->close();
}

constexpr OpDef kFailOp{.name = "FailAt", .types = "T->T", .T = kFloats, .index = "n->n", .no_grad = "a test"};

void fail_at_three(KernelRun& run) {
  if (*reinterpret_cast<const float*>(run.inputs[0].data) >= 3) throw Error(Code::numeric, "three");
  std::copy_n(run.inputs[0].data, sizeof(float), run.outputs[0].data);
}

TEST_CASE("a session that fails writes what all its tasks did last") {
  static constexpr Kernel kFail{.op = "FailAt", .run = fail_at_three};
  KernelTable table = cpu_kernels();
  table.add(std::span(&kFail, 1));
  const test::TempFolder folder;
  for (const int tasks : {1, 2}) {
    CAPTURE(tasks);
    const std::string file = folder / ("last" + std::to_string(tasks) + ".json");
    Graph g;
    const Value x = g.input("x", DType::float32, {1});
    Value y;
    {
      const auto there = g.device("/task:" + std::to_string(tasks - 1));
      y = g.add(kFailOp, std::array{x * 2.F}, {}, {})[0];
    }
    Session session(g, Cluster::connect({.tasks = tasks, .threads = 1, .jobs = ""}),
                    {.plan = {.fuse_from = 0}, .run = {.kernels = &table, .flight_recorder = file}});
    RunRequest request;
    request.fetches = {y};
    request.feeds["x"] = Tensor::of<float>({1}, {1});
    session.run(request);
    CHECK(!std::filesystem::exists(file));
    request.feeds["x"] = Tensor::of<float>({1}, {2});
    CHECK_THROWS_AS(static_cast<void>(session.run(request)), Error);
    const FlightFile flight = read_flight_file(local_files(), file);
    CHECK(has(flight.error, "FailAt"));
    CHECK(has(flight.error, "three"));
    REQUIRE(flight.tasks.size() == static_cast<std::size_t>(tasks));
    CHECK(has(flight.tasks.back().events.back().what, "FailAt"));
    for (const FlightFile::Task& task : flight.tasks) {
      CHECK(has(task.who, "task "));
      CHECK(std::ranges::any_of(task.events, [](const FlightFile::Event& event) { return event.what == "step 1"; }));
    }
  }
}

TEST_CASE("a session whose record has no place is refused before it runs") {
  const test::TempFolder folder;
  Graph g;
  try {
    const Session session(g, Cluster::connect({.tasks = 1, .threads = 1, .jobs = ""}),
                          {.run = {.flight_recorder = folder / "no/last.json"}});
    FAIL("taken");
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(has(error.text(), "no/last.json"));
  }
}

TEST_CASE("a session that ends leaves the record of another one there") {
  FlightExchange here({0, 1}, 0, [] {}), there({0, 1}, 1, [] {});
  FlightRecorder first(0, 1), second(0, 1);
  second.begins_step(7);
  here.set_source(0, first);
  here.set_source(0, second);
  here.remove_source(first);
  std::vector<FlightRecord> records;
  std::atomic<bool> gathered{false};
  std::thread gathering([&] {
    records = there.gather(std::array{0}, 60s);
    gathered = true;
  });
  const auto taken_by = [](FlightExchange& exchange, const FlightExchange::Send& answer) {
    return [&exchange, answer](int, const std::string& datagram) {
      BlobReader reader(datagram);
      const std::int64_t kind = reader.number();
      CHECK(exchange.take(kind, reader, answer));
    };
  };
  while (!gathered) static_cast<void>(there.send_due(system_clock().now(), taken_by(here, taken_by(there, {}))));
  gathering.join();
  REQUIRE(records[0].size() == 1);
  CHECK(records[0][0].text == "step 7");
}

TEST_CASE("what is no file of the flight recorder is refused by its name") {
  const test::TempFolder folder;
  const std::string file = folder / "some.json";
  for (const char* text : {"", "{", "[]", "{}", R"({"error":"e","time":0,"tasks":[{"who":1}]})",
                           R"({"error":"e","time":0,"tasks":{"a":[1]}})"}) {
    local_files().write(file, std::string_view(text));
    try {
      static_cast<void>(read_flight_file(local_files(), file));
      FAIL("taken: ", text);
    } catch (const Error& error) {
      CHECK(error.code() == Code::file);
      CHECK(has(error.text(), "some.json"));
    }
  }
  local_files().write(file, std::string_view(R"({"error":"e","time":0,"tasks":[{"who":"w","state":"","events":[
      {"age":1e300,"thread":0,"what":"x"}]}]})"));
  CHECK(read_flight_file(local_files(), file).tasks[0].events[0].what == "x");
}

}  // namespace
}  // namespace ferry

// The simulated device does what any device must do, and reports each race, whatever order the seed draws.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <stdexcept>

#include "tests/support/device_suite.hpp"
#include "tests/support/threads.hpp"

namespace ferry::test {
namespace {

using Bytes = std::array<std::byte, 64>;

/// Two queues of a device, with memory there and on the host.
struct Desk {
  explicit Desk(std::uint64_t seed) : devices(simulated_devices(seed), {}) {}

  void copy(const Devices::Owned& queue, std::byte* to, const std::byte* from) {
    devices.copy(queue.get(), to, from, sizeof(Bytes), nullptr);
  }
  void touch(bool writes) { devices.touches(host.data(), sizeof(Bytes), writes, nullptr); }

  Devices devices;
  Bytes host{};
  Devices::Owned used = devices.host_memory(host.data(), sizeof(Bytes));
  Devices::Owned a = devices.queue(0), b = devices.queue(0), event = devices.event();
  std::shared_ptr<std::byte> x = devices.memory(0, sizeof(Bytes), "x"), y = devices.memory(0, sizeof(Bytes), "y");
};

/// Checks that the device reports `report` for a program, with each of 20 seeds; "": that it reports nothing.
void check_reports(const std::string& report, const std::function<void(Desk&)>& program) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Desk desk(seed);
    std::string said;
    try {
      program(desk);
      desk.devices.record(desk.a.get(), desk.event.get());
      static_cast<void>(desk.devices.happened(desk.event.get()));
    } catch (const FailedWork& failed) {
      CHECK(failed.code() == Code::bug);
      said = failed.text();
    }
    if (report.empty())
      CHECK(said == "");
    else
      CHECK_MESSAGE(said.find(report) != std::string::npos, said);
  }
}

TEST_CASE("it does what every device does") {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    check_device_library(simulated_devices(seed));
    check_device_groups(simulated_devices(seed));
  }
}

TEST_CASE("two queues that nothing ties together race, in every order that is drawn") {
  check_reports("queue 2 of gpu:0 reads memory that queue 1 of gpu:0 has written", [](Desk& desk) {
    desk.copy(desk.a, desk.x.get(), desk.host.data());
    desk.copy(desk.b, desk.y.get(), desk.x.get());
  });
  check_reports("", [](Desk& desk) {
    desk.copy(desk.a, desk.x.get(), desk.host.data());
    desk.devices.record(desk.a.get(), desk.event.get());
    desk.devices.wait(desk.b.get(), desk.event.get());
    desk.copy(desk.b, desk.y.get(), desk.x.get());
  });
}

TEST_CASE("an event that was not recorded orders nothing") {
  check_reports("queue 2 of gpu:0 reads memory that queue 1 of gpu:0 has written", [](Desk& desk) {
    desk.copy(desk.a, desk.x.get(), desk.host.data());
    desk.devices.wait(desk.b.get(), desk.event.get());
    desk.copy(desk.b, desk.y.get(), desk.x.get());
  });
}

TEST_CASE("an event that was recorded too early orders what came before it alone") {
  check_reports("queue 2 of gpu:0 reads memory that queue 1 of gpu:0 has written", [](Desk& desk) {
    desk.copy(desk.a, desk.y.get(), desk.host.data());
    desk.devices.record(desk.a.get(), desk.event.get());
    desk.copy(desk.a, desk.x.get(), desk.host.data());
    desk.devices.wait(desk.b.get(), desk.event.get());
    desk.copy(desk.b, desk.y.get(), desk.x.get());
  });
}

TEST_CASE("the time of an event is told when it has happened, and if it is a timed one") {
  const std::string report = "elapsed() of an event that is not timed or has not happened";
  check_reports(report, [](Desk& desk) {
    const auto first = desk.devices.timed_event(), next = desk.devices.timed_event();
    desk.devices.record(desk.a.get(), first.get());
    CHECK(desk.devices.happened(first.get()));
    desk.devices.record(desk.b.get(), next.get());
    static_cast<void>(desk.devices.elapsed(first.get(), next.get()));
  });
  check_reports(report, [](Desk& desk) {
    desk.devices.record(desk.a.get(), desk.event.get());
    CHECK(desk.devices.happened(desk.event.get()));
    static_cast<void>(desk.devices.elapsed(desk.event.get(), desk.event.get()));
  });
}

TEST_CASE("the host fills memory again only when what reads it is done") {
  check_reports("the host writes memory that queue 1 of gpu:0 has read", [](Desk& desk) {
    desk.touch(true);
    desk.copy(desk.a, desk.x.get(), desk.host.data());
    desk.touch(true);
  });
  check_reports("", [](Desk& desk) {
    desk.touch(true);
    desk.copy(desk.a, desk.x.get(), desk.host.data());
    desk.devices.record(desk.a.get(), desk.event.get());
    CHECK(desk.devices.happened(desk.event.get()));
    desk.touch(true);
  });
}

TEST_CASE("the host reads what was copied out only when it has arrived") {
  check_reports("the host reads memory that queue 1 of gpu:0 has written", [](Desk& desk) {
    desk.copy(desk.a, desk.host.data(), desk.x.get());
    desk.touch(false);
  });
}

TEST_CASE("memory is written over only when what reads it is done") {
  check_reports("queue 2 of gpu:0 writes memory that queue 1 of gpu:0 has read", [](Desk& desk) {
    desk.copy(desk.a, desk.y.get(), desk.x.get());
    desk.copy(desk.b, desk.x.get(), desk.host.data());
  });
}

TEST_CASE("copies use memory of the host that was said to be used") {
  check_reports("memory of the host that no device uses", [](Desk& desk) {
    Bytes other{};
    desk.copy(desk.a, desk.x.get(), other.data());
  });
}

/// A run of a kernel with one input and one output of 64 bytes.
struct Run {
  Run(std::byte* from, std::byte* to)
      : in{from, DType::uint8, sizes, sizes, begin, false},
        out{to, DType::uint8, sizes, sizes, begin, false},
        run{.inputs = {&in, 1},
            .outputs = {&out, 1},
            .scratch = {},
            .parallel = parallel,
            .step = step,
            .iterations = {}} {}
  Threads parallel{1};
  std::array<std::int64_t, 1> sizes{64}, begin{0};
  std::int64_t step = 0;
  Array in, out;
  KernelRun run;
};

TEST_CASE("kernels work on memory of their device alone") {
  const auto nothing = [](KernelRun&) {};
  check_reports("a kernel on gpu:0 is given memory of the host", [&](Desk& desk) {
    Run run(desk.host.data(), desk.x.get());
    desk.devices.launch(desk.a.get(), {nothing, &run.run, nullptr});
  });
  check_reports("a kernel on gpu:0 is given memory of gpu:1", [&](Desk& desk) {
    const auto other = desk.devices.memory(1, sizeof(Bytes), "z");
    Run run(other.get(), desk.x.get());
    desk.devices.launch(desk.a.get(), {nothing, &run.run, nullptr});
  });
}

/// Captures a copy from x to y on queue a.
Devices::Owned copy_captured(Desk& desk) {
  desk.devices.begin_capture(desk.a.get());
  desk.copy(desk.a, desk.y.get(), desk.x.get());
  return desk.devices.end_capture(desk.a.get());
}

TEST_CASE("replayed work races as any other") {
  const auto around = [](bool waits) {
    return [waits](Desk& desk) {
      const auto graph = copy_captured(desk);
      desk.copy(desk.b, desk.x.get(), desk.host.data());
      desk.devices.record(desk.b.get(), desk.event.get());
      if (waits) desk.devices.wait(desk.a.get(), desk.event.get());
      desk.devices.replay(desk.a.get(), graph.get());
      desk.devices.record(desk.a.get(), desk.event.get());
      static_cast<void>(desk.devices.happened(desk.event.get()));
    };
  };
  check_reports("queue 1 of gpu:0 reads memory that queue 2 of gpu:0 has written", around(false));
  check_reports("", around(true));
}

TEST_CASE("while a queue captures nothing else is asked for") {
  const auto report = "while queue 1 of gpu:0 captures its work, something else is asked for";
  const std::function<void(Desk&)> others[] = {
      [](Desk& desk) { desk.devices.record(desk.a.get(), desk.event.get()); },
      [](Desk& desk) { desk.devices.wait(desk.a.get(), desk.event.get()); },
      [](Desk& desk) { static_cast<void>(desk.devices.happened(desk.event.get())); },
      [](Desk& desk) { desk.copy(desk.b, desk.y.get(), desk.x.get()); },
      [](Desk& desk) { desk.devices.begin_capture(desk.a.get()); },
      [](Desk& desk) { desk.devices.begin_capture(desk.b.get()); },
      [](Desk& desk) { static_cast<void>(desk.devices.end_capture(desk.b.get())); },
      [](Desk& desk) { static_cast<void>(desk.devices.queue(0)); },
      [](Desk& desk) { static_cast<void>(desk.devices.event()); },
      [](Desk& desk) { static_cast<void>(desk.devices.memory(0, 64, "z")); },
      [](Desk& desk) { static_cast<void>(desk.devices.host_memory(desk.host.data(), 1)); }};
  for (const auto& other : others)
    check_reports(report, [&](Desk& desk) {
      desk.devices.begin_capture(desk.a.get());
      other(desk);
    });
  check_reports(report, [](Desk& desk) {
    const auto graph = copy_captured(desk);
    desk.devices.begin_capture(desk.a.get());
    desk.devices.replay(desk.a.get(), graph.get());
  });
  check_reports("a capture ends that has not begun",
                [](Desk& desk) { static_cast<void>(desk.devices.end_capture(desk.a.get())); });
}

TEST_CASE("what is captured stays within the device, and stays as it is") {
  check_reports("a copy that is captured leaves gpu:0", [](Desk& desk) {
    desk.devices.begin_capture(desk.a.get());
    desk.copy(desk.a, desk.x.get(), desk.host.data());
  });
  check_reports("a graph is replayed on another queue than that which captured it", [](Desk& desk) {
    const auto graph = copy_captured(desk);
    desk.devices.replay(desk.b.get(), graph.get());
  });
  const std::function<void(Run&)> changes[] = {[](Run& run) { run.sizes[0] = 32; },
                                               [](Run& run) { run.out.data = run.in.data; },
                                               [](Run& run) {
                                                 run.run.scratch = {run.in.data, 64};
                                               },
                                               [](Run& run) { run.run.outputs = {}; }};
  for (const auto& change : changes)
    check_reports("the arguments of a kernel have changed since it was captured", [&](Desk& desk) {
      Run run(desk.x.get(), desk.y.get());
      desk.devices.begin_capture(desk.a.get());
      desk.devices.launch(desk.a.get(), {[](KernelRun&) {}, &run.run, nullptr});
      const auto graph = desk.devices.end_capture(desk.a.get());
      change(run);
      desk.devices.replay(desk.a.get(), graph.get());
    });
}

TEST_CASE("a graph is released when its work is done") {
  check_reports("a graph is released before its work is done", [](Desk& desk) {
    auto graph = copy_captured(desk);
    desk.devices.replay(desk.a.get(), graph.get());
    graph.reset();
  });
  check_reports("", [](Desk& desk) {
    auto graph = copy_captured(desk);
    desk.devices.replay(desk.a.get(), graph.get());
    desk.devices.record(desk.a.get(), desk.event.get());
    static_cast<void>(desk.devices.happened(desk.event.get()));
    graph.reset();
  });
}

/// Checks that the device's failure is what `kernel` throws, and names it.
void check_fails(void (*kernel)(KernelRun&), Code code, const std::string& text, std::int64_t input) {
  Desk desk(1);
  Run run(desk.x.get(), desk.y.get());
  desk.devices.launch(desk.a.get(), {kernel, &run.run, &run});
  desk.devices.record(desk.a.get(), desk.event.get());
  for (int time = 0; time < 2; ++time) {  // the failure is reported again
    try {
      static_cast<void>(desk.devices.happened(desk.event.get()));
      FAIL("it has not failed");
    } catch (const FailedWork& failed) {
      CHECK(failed.tag() == &run);
      CHECK(failed.code() == code);
      CHECK(failed.input() == input);
      CHECK(failed.text() == text);
    }
  }
}

TEST_CASE("what a kernel throws is the device's failure, and names the kernel") {
  check_fails([](KernelRun&) { throw BadValue(0, "an index is out of range"); }, Code::program,
              "an index is out of range", 0);
  check_fails([](KernelRun&) { throw std::runtime_error("enough"); }, Code::program, "its code threw: enough", -1);
  check_fails([](KernelRun&) { throw 42; }, Code::program, "its code threw: something that is no std::exception", -1);
}

TEST_CASE("a device that is not there is a failure, after which nothing succeeds") {
  for (const int device : {-1, 8}) {
    const Devices devices(simulated_devices(1), {});
    static_cast<void>(devices.memory(7, 64, "x"));
    CHECK_THROWS_WITH_AS(static_cast<void>(devices.memory(device, 64, "x")), doctest::Contains("there is no gpu:"),
                         FailedWork);
    CHECK_THROWS_AS(static_cast<void>(devices.memory(0, 64, "x")), FailedWork);
    CHECK_THROWS_AS(static_cast<void>(devices.queue(0)), FailedWork);
    CHECK_THROWS_AS(static_cast<void>(devices.event()), FailedWork);
    CHECK_THROWS_AS(static_cast<void>(devices.host_memory(nullptr, 64)), FailedWork);
  }
}

TEST_CASE("the host cannot touch the device's memory") {
  const Desk desk(1);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    *desk.x = std::byte{1};
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}

TEST_CASE("queues run nothing before somebody asks, and then in the orders that they allow") {
  std::array<bool, 2> first{};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Desk desk(seed);
    const std::shared_ptr<std::byte> z = desk.devices.memory(0, sizeof(Bytes), "z");
    static std::string order;
    order.clear();
    Run one(desk.x.get(), desk.y.get()), other(z.get(), z.get());
    desk.devices.launch(desk.a.get(), {[](KernelRun&) { order += "a"; }, &one.run, nullptr});
    desk.devices.launch(desk.b.get(), {[](KernelRun&) { order += "b"; }, &other.run, nullptr});
    CHECK(order == "");
    desk.devices.record(desk.a.get(), desk.event.get());
    CHECK(desk.devices.happened(desk.event.get()));
    REQUIRE(!order.empty());
    first[order[0] == 'a' ? 0 : 1] = true;
  }
  CHECK(first[0]);
  CHECK(first[1]);
}

TEST_CASE("a table of another version or size is refused") {
  const DeviceLibrary library = simulated_devices(1);
  for (const bool version : {true, false}) {
    DeviceTable table = *library.table;
    ++(version ? table.version : table.size);
    CHECK_THROWS_WITH_AS(Devices({&table, library.library, library.kernels}, {}),
                         doctest::Contains("the library of devices was built for another ferry"), Error);
  }
}

}  // namespace
}  // namespace ferry::test

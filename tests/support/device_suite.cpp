#include "tests/support/device_suite.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "tests/support/threads.hpp"

namespace ferry::test {
namespace {

using Floats = std::array<float, 4>;

/// One kernel's run on memory of a device.
class Negation {
 public:
  Negation(const KernelTable& kernels, std::byte* from, std::byte* to, void* queue)
      : types_{Type{DType::float32, Shape{4}}},
        in_{from, DType::float32, sizes_, sizes_, begin_, false},
        out_{to, DType::float32, sizes_, sizes_, begin_, false},
        run_{.inputs = {&in_, 1},
             .outputs = {&out_, 1},
             .scratch = {},
             .parallel = parallel_,
             .step = step_,
             .iterations = {},
             .queue = queue} {
    const Kernel* const kernel = kernels.find("Neg");
    REQUIRE(kernel != nullptr);
    bound_ =
        bind(kernels, *kernel, {.name = "y", .attrs = attrs_, .inputs = types_, .outputs = types_, .data_folder = {}});
    run_.state = bound_.state.get();
  }
  [[nodiscard]] DeviceLaunch launch() { return {bound_.run, &run_, this}; }

 private:
  Threads parallel_{1};
  std::array<std::int64_t, 1> sizes_{4}, begin_{0};
  const std::vector<Type> types_;
  const Attrs attrs_;
  const std::int64_t step_ = 0;
  Array in_, out_;
  KernelRun run_;
  BoundKernel bound_;
};

void await(const Devices& devices, void* event) {
  const Deadline deadline(system_clock(), std::chrono::seconds(60));
  while (!devices.happened(event)) REQUIRE_MESSAGE(!deadline.expired(), "the event did not happen for a minute");
}

/// Moments of one device by its clock: ordered work has ordered moments, also between queues and when recorded again.
/// They are between the host's moments around them.
void check_timed_events(const Devices& devices, int device) {
  Floats host{1, 2, 3, 4};
  const auto bytes = sizeof host;
  const auto* const host_bytes = reinterpret_cast<const std::byte*>(host.data());
  const auto used = devices.host_memory(host_bytes, bytes);
  const auto in = devices.queue(device), compute = devices.queue(device);
  const auto x = devices.memory(device, bytes, "x"), y = devices.memory(device, bytes, "y");
  const auto arrived = devices.event();
  std::vector<Devices::Owned> moments;
  for (int i = 0; i < 4; ++i) moments.push_back(devices.timed_event());
  for (int round = 0; round < 2; ++round) {
    const TimePoint begin = system_clock().now();
    devices.record(in.get(), moments[0].get());
    if (devices.asks_for_touches()) devices.touches(host_bytes, bytes, true, nullptr);
    devices.copy(in.get(), x.get(), host_bytes, bytes, nullptr);
    devices.record(in.get(), moments[1].get());
    devices.record(in.get(), arrived.get());
    devices.wait(compute.get(), arrived.get());
    devices.record(compute.get(), moments[2].get());  // when the awaited work is done
    devices.copy(compute.get(), y.get(), x.get(), bytes, nullptr);
    devices.record(compute.get(), moments[3].get());
    for (const auto& moment : moments) await(devices, moment.get());
    for (std::size_t i = 1; i < moments.size(); ++i) {
      CHECK(devices.elapsed(moments[i - 1].get(), moments[i].get()).count() >= 0);
      CHECK(devices.elapsed(moments[i].get(), moments[0].get()) ==
            -devices.elapsed(moments[0].get(), moments[i].get()));
    }
    CHECK(devices.elapsed(moments.front().get(), moments.back().get()) <= system_clock().now() - begin);
  }
}

}  // namespace

void check_device_library(const DeviceLibrary& library) {
  const char* why = "";
  const int count = library.table->count(library.library.get(), &why);
  REQUIRE_MESSAGE(count > 0, std::string(why));
  const std::shared_ptr<const KernelTable> kernels = library.kernels(cpu_kernels());
  const Devices devices(library, {.task = 0, .first = 0, .count = count});

  const auto bytes = sizeof(Floats);
  Floats host{1, 2, 3, 4}, back{};
  const auto* const host_bytes = reinterpret_cast<const std::byte*>(host.data());
  auto* const back_bytes = reinterpret_cast<std::byte*>(back.data());
  const auto host_used = devices.host_memory(host_bytes, bytes), back_used = devices.host_memory(back_bytes, bytes);

  for (const int device : {0, count - 1}) {
    CAPTURE(device);
    const auto in = devices.queue(device), compute = devices.queue(device), out = devices.queue(device);
    const auto arrived = devices.event(), made = devices.event(), left = devices.event();
    const auto x = devices.memory(device, bytes, "x"), y = devices.memory(device, bytes, "y");
    Negation negation(*kernels, x.get(), y.get(), compute.get());
    for (int round = 0; round < 3; ++round) {  // events are recorded again and again
      host[0] = static_cast<float>(round);
      if (devices.asks_for_touches()) devices.touches(host_bytes, bytes, true, nullptr);
      devices.copy(in.get(), x.get(), host_bytes, bytes, nullptr);
      devices.record(in.get(), arrived.get());
      devices.wait(compute.get(), arrived.get());
      devices.launch(compute.get(), negation.launch());
      devices.record(compute.get(), made.get());
      devices.wait(out.get(), made.get());
      devices.copy(out.get(), back_bytes, y.get(), bytes, nullptr);
      devices.record(out.get(), left.get());
      await(devices, left.get());
      CHECK(back == Floats{static_cast<float>(-round), -2, -3, -4});
      CHECK(devices.happened(arrived.get()));
    }
    // What one queue is given runs in that order, without an event.
    devices.launch(compute.get(), negation.launch());
    devices.copy(compute.get(), x.get(), y.get(), bytes, nullptr);
    devices.launch(compute.get(), negation.launch());
    devices.copy(compute.get(), back_bytes, y.get(), bytes, nullptr);
    devices.record(compute.get(), made.get());
    await(devices, made.get());
    CHECK(back == Floats{2, 2, 3, 4});

    // Captured work does not run at capture. It runs at each replay, with the memory's content at that time.
    const auto fetch_x = [&] {
      devices.copy(compute.get(), back_bytes, x.get(), bytes, nullptr);
      devices.record(compute.get(), made.get());
      await(devices, made.get());
      return back;
    };
    devices.begin_capture(compute.get());
    devices.launch(compute.get(), negation.launch());
    devices.copy(compute.get(), x.get(), y.get(), bytes, nullptr);
    const auto graph = devices.end_capture(compute.get());
    CHECK(fetch_x() == Floats{-2, -2, -3, -4});
    devices.replay(compute.get(), graph.get());
    CHECK(fetch_x() == Floats{2, 2, 3, 4});
    for (int time = 0; time < 2; ++time) devices.replay(compute.get(), graph.get());
    CHECK(fetch_x() == Floats{2, 2, 3, 4});
    for (int round = 0; round < 3; ++round) {  // between events of other queues
      host[0] = static_cast<float>(10 + round);
      if (devices.asks_for_touches()) devices.touches(host_bytes, bytes, true, nullptr);
      devices.copy(in.get(), x.get(), host_bytes, bytes, nullptr);
      devices.record(in.get(), arrived.get());
      devices.wait(compute.get(), arrived.get());
      devices.replay(compute.get(), graph.get());
      devices.record(compute.get(), made.get());
      devices.wait(out.get(), made.get());
      devices.copy(out.get(), back_bytes, x.get(), bytes, nullptr);
      devices.record(out.get(), left.get());
      await(devices, left.get());
      CHECK(back == Floats{static_cast<float>(-10 - round), -2, -3, -4});
    }
  }

  for (const int device : {0, count - 1}) check_timed_events(devices, device);
  const auto never = devices.event();
  CHECK(devices.happened(never.get()));  // as nothing was recorded
  CHECK_THROWS_WITH_AS(static_cast<void>(devices.memory(0, std::uint64_t{1} << 60, "a step")),
                       doctest::Contains("a step: the device has no memory for 1152921504606846976 bytes"), Error);
}

namespace {

using Kind = DeviceCollective::Kind;

/// One member of a group: its device, a queue, and memory for two values of several times `kEach` floats.
class GroupMember {
 public:
  static constexpr std::uint64_t kEach = 3;

  GroupMember(const DeviceLibrary& library, int members, int number)
      : members_(members),
        number_(number),
        devices_(library, {.task = number, .first = number, .count = 1}),
        queue_(devices_.queue(0)),
        done_(devices_.event()),
        input_(devices_.memory(0, bytes(), "input")),
        output_(devices_.memory(0, bytes(), "output")),
        host_(kEach * static_cast<std::uint64_t>(members)),
        used_(devices_.host_memory(host_bytes(), bytes())) {}

  [[nodiscard]] const Devices& devices() const { return devices_; }
  void join(const DeviceGroupName& name) {
    group_ = devices_.join_group(0, name, members_, number_);
    const Deadline deadline(system_clock(), std::chrono::seconds(60));
    while (!devices_.joined(group_.get())) {
      if (deadline.expired()) throw std::runtime_error("the others have not joined for a minute");
      std::this_thread::yield();
    }
  }

  /// Element k of its input is 100 number + k. Returns its output afterwards; the output was -1 before.
  std::vector<float> run(DeviceCollective what, const std::vector<DeviceMessage>& messages = {}) {
    std::vector<float> values;
    for (std::size_t k = 0; k < host_.size(); ++k)
      values.push_back(static_cast<float>(100 * number_) + static_cast<float>(k));
    fill(input_.get(), values);
    fill(output_.get(), std::vector<float>(host_.size(), -1));
    what.dtype = DType::float32;
    if (what.kind != Kind::exchange) what.input = input_.get();
    if (what.kind != Kind::exchange && (what.kind != Kind::reduce || what.root == number_)) what.output = output_.get();
    what.messages = messages.data();
    what.message_count = messages.size();
    const Deadline deadline(system_clock(), std::chrono::seconds(60));
    while (!devices_.collective(queue_.get(), group_.get(), what)) {
      if (deadline.expired()) throw std::runtime_error("the others have not come for a minute");
      std::this_thread::yield();
    }
    copy(host_bytes(), output_.get(), true);
    return host_;
  }

  /// A message with element k of the input or output.
  [[nodiscard]] DeviceMessage sends(int peer, std::uint64_t k) const { return message(peer, 1, input_.get(), k); }
  [[nodiscard]] DeviceMessage receives(int peer, std::uint64_t k) const { return message(peer, 0, output_.get(), k); }

 private:
  [[nodiscard]] std::uint64_t bytes() const { return kEach * static_cast<std::uint64_t>(members_) * sizeof(float); }
  [[nodiscard]] std::byte* host_bytes() { return reinterpret_cast<std::byte*>(host_.data()); }
  static DeviceMessage message(int peer, int sends, std::byte* memory, std::uint64_t k) {
    return {peer, sends, memory + k * sizeof(float), sizeof(float)};
  }
  void fill(std::byte* memory, const std::vector<float>& values) {
    if (devices_.asks_for_touches()) devices_.touches(host_bytes(), bytes(), true, nullptr);
    host_ = values;
    copy(memory, host_bytes(), false);
  }
  void copy(std::byte* to, const std::byte* from, bool back) {
    devices_.copy(queue_.get(), to, from, bytes(), nullptr);
    devices_.record(queue_.get(), done_.get());
    while (!devices_.happened(done_.get())) std::this_thread::yield();
    if (back && devices_.asks_for_touches()) devices_.touches(host_bytes(), bytes(), false, nullptr);
  }

  const int members_, number_;
  const Devices devices_;
  const Devices::Owned queue_, done_;
  const std::shared_ptr<std::byte> input_, output_;
  std::vector<float> host_;
  const Devices::Owned used_;
  Devices::Owned group_;
};

/// What a member ends with, by kind, as the definitions in kernels/device.hpp say.
std::vector<float> wanted_of(Kind kind, int members, int number, int root) {
  const auto value = [](int member, std::size_t k) { return static_cast<float>(100 * member) + static_cast<float>(k); };
  const auto sum = [&](std::size_t k) {
    float all = 0;
    for (int m = 0; m < members; ++m) all += value(m, k);
    return all;
  };
  constexpr std::size_t kEach = GroupMember::kEach;
  std::vector<float> wanted(kEach * static_cast<std::size_t>(members), -1);
  for (std::size_t k = 0; k < kEach; ++k) {
    if (kind == Kind::all_reduce || (kind == Kind::reduce && number == root)) wanted[k] = sum(k);
    if (kind == Kind::reduce_scatter) wanted[k] = sum(static_cast<std::size_t>(number) * kEach + k);
    if (kind == Kind::broadcast) wanted[k] = value(root, k);
    for (int m = 0; kind == Kind::all_gather && m < members; ++m)
      wanted[static_cast<std::size_t>(m) * kEach + k] = value(m, k);
  }
  return wanted;
}

/// What a member does; throws where it goes wrong, since doctest's assertions are for one thread.
void take_part(GroupMember& member, int members, int number) {
  for (const Kind kind : {Kind::all_reduce, Kind::reduce, Kind::reduce_scatter, Kind::all_gather, Kind::broadcast})
    for (int root = 0; root < members; ++root) {
      const DeviceCollective what{.kind = kind, .reduce = Reduce::sum, .root = root, .count = GroupMember::kEach};
      if (member.run(what) != wanted_of(kind, members, number, root))
        throw std::runtime_error("kind " + std::to_string(static_cast<int>(kind)) + ", root " + std::to_string(root));
    }
  // Each gives element j to member j, itself included, which puts what member i gave at i.
  std::vector<DeviceMessage> messages;
  std::vector<float> wanted(GroupMember::kEach * static_cast<std::size_t>(members), -1);
  for (int peer = 0; peer < members; ++peer) {
    messages.push_back(member.sends(peer, static_cast<std::uint64_t>(peer)));
    messages.push_back(member.receives(peer, static_cast<std::uint64_t>(peer)));
    wanted[peer] = static_cast<float>(100 * peer + number);
  }
  if (member.run({.kind = Kind::exchange}, messages) != wanted) throw std::runtime_error("an exchange");
}

}  // namespace

void check_device_groups(const DeviceLibrary& library) {
  const char* why = "";
  const int members = std::min(library.table->count(library.library.get(), &why), 2);
  REQUIRE_MESSAGE(library.table->group_domain(library.library.get(), &why) != 0, std::string(why));
  const DeviceGroupName name = Devices(library, {.task = 0, .first = 0, .count = 1}).name_group();
  std::vector<std::string> errors(static_cast<std::size_t>(members));
  std::vector<std::thread> threads;
  for (int number = 0; number < members; ++number)
    threads.emplace_back([&, number] {
      try {
        GroupMember member(library, members, number);
        member.join(name);
        for (int round = 0; round < 2; ++round) take_part(member, members, number);
      } catch (const std::exception& error) {
        errors[number] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) CHECK(error == "");
}

}  // namespace ferry::test

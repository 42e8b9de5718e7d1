#include "tests/support/device_suite.hpp"

#include <doctest/doctest.h>

#include <array>
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
  }

  const auto never = devices.event();
  CHECK(devices.happened(never.get()));  // as nothing was recorded
  CHECK_THROWS_WITH_AS(static_cast<void>(devices.memory(0, std::uint64_t{1} << 60, "a step")),
                       doctest::Contains("a step: the device has no memory for 1152921504606846976 bytes"), Error);
}

}  // namespace ferry::test

// The GPUs that ferry finds on this machine: the suite of all devices, and elementwise ops on many numbers, which must
// have the CPU's bits. In ./check the plug-in beside this program is on the host; tests/gpu/run has a real one.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "executor/cluster.hpp"
#include "executor/session/session.hpp"
#include "kernels/device.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/bits.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/trig.hpp"
#include "tests/support/device_suite.hpp"
#include "tests/support/has.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

DeviceLibrary gpus() {
  std::string why;
  const std::optional<DeviceLibrary> found = cuda_devices(why);
  REQUIRE_MESSAGE(found, why);
  const char* none = "";
  REQUIRE_MESSAGE(found->table->count(found->library.get(), &none) > 0, std::string(none));
  return *found;
}

/// Numbers of any bits; integers small enough to be shifted and to be raised to their powers.
template <class T>
Tensor random_bits(std::uint64_t seed, std::int64_t count) {
  std::mt19937_64 random(seed);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) {
    const std::uint64_t bits = random();
    std::memcpy(static_cast<void*>(&number), &bits, sizeof number);
  }
  return Tensor::of<T>({count}, numbers);
}

std::vector<Tensor> on(const char* device, DType dtype, const std::function<Values(const Values&)>& build,
                       const std::vector<Tensor>& inputs, const SessionOptions& options = {}) {
  Graph g;
  Values x, y;
  TensorMap feeds;
  {
    const auto there = g.device(device);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = "x" + std::to_string(i);
      x.push_back(g.input(name, dtype, inputs[i].type().shape));
      feeds[name] = inputs[i];
    }
    y = build(x);
  }
  Session session(g, Cluster::connect(ClusterOptions{.tasks = 1, .jobs = ""}), options);
  return session.run(y, feeds);
}

/// NaNs count as equal: which of two a sum takes is the processor's to choose.
template <class T>
std::int64_t different(const Tensor& a, const Tensor& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.data<T>().size(); ++i) {
    const T x = a.data<T>()[i], y = b.data<T>()[i];
    if (std::memcmp(&x, &y, sizeof x) != 0 && !(x != x && y != y)) ++count;
  }
  return count;
}

Values unary(const Values& v) {
  const Value x = v[0];
  return {-x,      abs(x),     sign(x), square(x), relu(x), exp(x),   log(x),   sqrt(x), rsqrt(x),
          tanh(x), sigmoid(x), erf(x),  floor(x),  ceil(x), round(x), sin(x),   cos(x),  tan(x),
          asin(x), acos(x),    atan(x), sinh(x),   cosh(x), asinh(x), acosh(x), atanh(x)};
}

Values binary(const Values& v) {
  const Value &x = v[0], &y = v[1];
  return {x + y, x - y, x * y, x / y, maximum(x, y), minimum(x, y), mod(x, y), fmod(x, y)};
}

Values of_integers(const Values& v) {
  const Value &x = v[0], &y = v[1];
  return {x + y, x - y, x * y, maximum(x, y), minimum(x, y), bit_and(x, y), bit_or(x, y), bit_xor(x, y), -x, abs(x)};
}

/// Chains on values that are broadcast; some of the values are sums of others.
Values chains(const Values& v) {
  const Value &x = v[0], &row = v[1], &column = v[2];
  const Value scaled = x * row + column;
  const Value activated = relu(scaled) * 0.5 + tanh(scaled);
  return {activated, maximum(activated - row, scaled), cast(activated, DType::bfloat16) + cast(row, DType::bfloat16)};
}

constexpr std::int64_t kCount = 1 << 16;

template <class T>
void compare(const std::function<Values(const Values&)>& build, std::size_t inputs) {
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < inputs; ++i) given.push_back(random_bits<T>(i + 1, kCount));
  const auto cpu = on("/task:0/cpu:0", dtype_of<T>(), build, given);
  for (const std::int64_t fuse_from : {0, 1}) {  // by the ops' own kernels, and by generated ones
    SessionOptions options;
    options.plan.fuse_from = fuse_from;
    const auto gpu = on("/task:0/gpu:0", dtype_of<T>(), build, given, options);
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      CAPTURE(name_of(dtype_of<T>()));
      CAPTURE(fuse_from);
      CAPTURE(i);
      CHECK(different<T>(cpu[i], gpu[i]) == 0);
    }
  }
}

}  // namespace

TEST_CASE("the GPUs do what every device must") {
  check_device_library(gpus());
  const char* why = "";
  const DeviceLibrary library = gpus();
  if (library.table->group_domain(library.library.get(), &why) != 0)
    check_device_groups(library);
  else
    MESSAGE("without groups: " << why);
}

TEST_CASE("generated kernels on a GPU have the CPU's bits for values that are broadcast") {
  static_cast<void>(gpus());
  for (const std::int64_t columns : {64, 63}) {
    std::vector<Tensor> given;
    const std::vector<std::vector<std::int64_t>> shapes{{1'000, columns}, {columns}, {1'000, 1}};
    for (const std::vector<std::int64_t>& sizes : shapes) {
      Tensor numbers(DType::float32, sizes);
      std::mt19937_64 random(given.size());
      for (float& number : numbers.mutable_data<float>()) number = static_cast<float>(random() % 4'001) / 1'000 - 2;
      given.push_back(numbers);
    }
    const auto cpu = on("/task:0/cpu:0", DType::float32, chains, given),
               gpu = on("/task:0/gpu:0", DType::float32, chains, given);
    for (std::size_t i = 0; i < cpu.size(); ++i) CHECK(cpu[i].same_bits(gpu[i]));
  }
}

TEST_CASE("elementwise ops on a GPU have the CPU's bits") {
  static_cast<void>(gpus());
  compare<float>(unary, 1);
  compare<double>(unary, 1);
  compare<Float16>(unary, 1);
  compare<BFloat16>(unary, 1);
  compare<float>(binary, 2);
  compare<double>(binary, 2);
  compare<std::int32_t>(of_integers, 2);
  compare<std::int64_t>(of_integers, 2);
  compare<std::uint8_t>([](const Values& v) { return Values{v[0] + v[1], v[0] * v[1], maximum(v[0], v[1])}; }, 2);
}

TEST_CASE("an integer that a GPU divides by zero is an error, and the op is named") {
  static_cast<void>(gpus());
  const auto divide = [](const Values& v) { return Values{(v[0] / v[1]).named("quotient")}; };
  const Tensor x = Tensor::of<std::int32_t>({2}, {1, 2}), d = Tensor::of<std::int32_t>({2}, {1, 0});
  const Error error = error_of([&] { static_cast<void>(on("/task:0/gpu:0", DType::int32, divide, {x, d})); });
  CHECK(says(error, "an integer is divided by zero"));
  CHECK(says(error, "\"quotient\""));
}

}  // namespace ferry::test

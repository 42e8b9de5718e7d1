// Single instructions, for comparing kernels of CUDA devices with the CPU's, on whole arrays and on parts.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cuda_on_host.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/threads.hpp"

namespace ferry::test {

/// Memory at addresses that are aligned for groups of elements.
struct alignas(64) Line {
  std::byte bytes[64];
};

/// An array of a test, or its part of a whole value. It begins `shift` elements behind an address that is aligned for
/// groups of elements.
struct Operand {
  Operand(DType type, Ints local, std::size_t shift = 0) : dtype(type), sizes(std::move(local)) {
    whole = sizes;
    begin.assign(sizes.size(), 0);
    const std::size_t element = size_of(dtype), bytes = static_cast<std::size_t>(checked_count(sizes)) * element;
    first = shift * element;
    lines.resize((first + bytes + kAfter) / sizeof(Line) + 1);
  }
  Operand& part_of(Ints of, Ints at, Ints number = {}) {
    whole = std::move(of);
    begin = std::move(at);
    place = std::move(number);
    return *this;
  }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(lines)); }
  void fill(Dice& dice) {
    for (std::byte& byte : bytes()) byte = static_cast<std::byte>(dice.below(256));
  }
  [[nodiscard]] Array array() { return {bytes().data() + first, dtype, sizes, whole, begin, false, place}; }
  [[nodiscard]] Type type() const {
    Type type{dtype, {}};
    for (const std::int64_t size : sizes) type.shape.push_back(size);
    return type;
  }

  static constexpr std::size_t kAfter = 16;
  DType dtype;
  Ints sizes, whole, begin, place;
  std::size_t first;
  std::vector<Line> lines;
};

/// One instruction.
struct Given {
  Given(std::string_view name, Attrs with) : op(name), attrs(std::move(with)) {}
  std::string_view op;
  Attrs attrs;
  std::vector<Operand> in, out;
  bool in_place = false;

  void run(const KernelTable& kernels) {
    const Kernel* kernel = kernels.find(op);
    REQUIRE(kernel != nullptr);
    std::vector<Type> in_types, out_types;
    std::vector<PlacedPart> parts;
    std::vector<Array> inputs, outputs;
    for (Operand& operand : in) {
      in_types.push_back(operand.type());
      parts.push_back({operand.whole, operand.begin});
      inputs.push_back(operand.array());
    }
    for (Operand& operand : out) {
      out_types.push_back(operand.type());
      parts.push_back({operand.whole, operand.begin});
      outputs.push_back(operand.array());
    }
    if (in_place) {
      std::copy_n(inputs[0].data, in_types[0].bytes(), outputs[0].data);
      inputs[0].data = outputs[0].data;
    }
    const KernelSetup setup{
        .name = "op", .attrs = attrs, .inputs = in_types, .outputs = out_types, .data_folder = {}, .parts = parts};
    const auto state = kernel->prepare == nullptr ? nullptr : kernel->prepare(setup);
    std::vector<std::byte> scratch(static_cast<std::size_t>(scratch_of(*kernel, setup)));
    Threads parallel;
    const std::int64_t step = 0;
    KernelRun run{.inputs = inputs,
                  .outputs = outputs,
                  .state = state.get(),
                  .scratch = scratch,
                  .parallel = parallel,
                  .step = step,
                  .iterations = {}};
    kernel->run(run);
  }
};

inline const KernelTable& cuda_kernels() {
  static const std::shared_ptr<const KernelTable> kernels = cuda::kernels_on_host(cpu_kernels());
  return *kernels;
}

/// Kernels for CUDA devices give the CPU's bits, in any order of threads. `given` has its inputs' elements.
inline void check_filled(Given& given, Dice& dice) {
  for (Operand& operand : given.out) operand.fill(dice);
  Given wanted = given;
  wanted.run(cpu_kernels());
  for (const cuda::Order order : {cuda::Order::forward, cuda::Order::backward, cuda::Order::shuffled}) {
    Given found = given;
    cuda::run_threads(order);
    found.run(cuda_kernels());
    cuda::run_threads(cuda::Order::forward);
    for (std::size_t i = 0; i < given.out.size(); ++i) {
      CAPTURE(given.op);
      CAPTURE(name_of(given.out[i].dtype));
      CHECK(std::ranges::equal(found.out[i].bytes(), wanted.out[i].bytes()));
    }
  }
}

inline Given unary(std::string_view op, const Attrs& attrs, const Operand& in, const Operand& out) {
  Given given(op, attrs);
  given.in.push_back(in);
  given.out.push_back(out);
  return given;
}

}  // namespace ferry::test

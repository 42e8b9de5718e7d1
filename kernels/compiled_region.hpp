// Elementwise kernels of CPUs that are compiled into one loop while a job runs (kernels/compile). The executor writes
// the text of a region and gets its code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/types/dtype.hpp"

namespace ferry {

/// The name of the function that computes one element of the op's output, as "Add.float32" or "Cast.int64.float32".
/// Empty if generated code does not compute the op for these dtypes. Thread-safe.
[[nodiscard]] std::string function_of(std::string_view op, std::span<const DType> inputs, DType output);

/// Writes the text of a region, which kernels/compile/region_compiler.hpp describes. Not thread-safe.
///
///     RegionText text;
///     const RegionText::Value x = text.array(DType::float32, "each");
///     text.store(text.call("Exp.float32", {x}), text.array(DType::float32, "written"));
class RegionText {
 public:
  /// The element of an array, or the result of a call.
  struct Value {
    bool is_call = false;
    std::size_t index = 0;
  };

  /// Adds an array. Value::index is its number among the arrays.
  Value array(DType dtype, std::string_view access);
  /// The region has rows of `row` elements.
  void rows(std::int64_t row) { row_ = row; }
  Value call(std::string function, std::vector<Value> inputs);
  void store(Value value, Value array) { stores_.push_back({value, array.index}); }
  [[nodiscard]] std::string str() const;

 private:
  struct Call {
    std::string function;
    std::vector<Value> inputs;
  };
  struct Store {
    Value value;
    std::size_t array;
  };
  [[nodiscard]] std::size_t number(Value value) const { return value.is_call ? count_ + value.index : value.index; }

  std::int64_t row_ = 0;
  std::string arrays_;
  std::size_t count_ = 0;  // of arrays
  std::vector<Call> calls_;
  std::vector<Store> stores_;
};

/// Where the code of a region was searched so far, or is to be searched.
enum class RegionSearch : std::uint8_t {
  nowhere,
  cache,    ///< in the cache on disk
  compiler  ///< there, and if it has none, the region was compiled
};

/// The code of one region of a plan. While there is none, the region runs kernel by kernel. After some work the code is
/// taken from the cache on disk; after more work the region is compiled, so that short runs do not wait for the
/// compiler. All sessions of the process share the code of regions with equal texts. Not thread-safe, except run().
class LazyRegion {
 public:
  LazyRegion() = default;
  /// `text` as in region_compiler.hpp, `processor` as LLVM names it. Each run does `work`, and the region is compiled
  /// after the work `compile_after`, both counted in elements times kernels.
  LazyRegion(std::string text, std::string_view processor, std::int64_t work, std::int64_t compile_after)
      : text_(std::move(text)), processor_(processor), work_of_run_(work), compile_after_(compile_after) {}

  /// Whether there is code. Call it before each run.
  [[nodiscard]] bool ready();
  /// Computes `n` elements . arrays[k] is the address of the first one's element in array k of the text. Call it, after
  /// ready() has returned true. Thread-safe.
  void run(const void* const* arrays, std::int64_t n) const { code_(arrays, n); }

 private:
  std::string text_, processor_;
  std::int64_t work_of_run_ = 0, compile_after_ = 0, work_ = 0;
  RegionSearch searched_ = RegionSearch::nowhere;
  void (*code_)(const void* const* arrays, std::int64_t n) = nullptr;
};

}  // namespace ferry

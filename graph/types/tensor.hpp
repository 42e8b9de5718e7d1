// Tensor: a host array with dtype and known sizes. Constants, feeds and fetched results are tensors.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/types/dtype.hpp"
#include "graph/types/shape.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A dense row-major array. Copies share the bytes; only a sole owner may use `mutable_bytes`. Several threads may read
/// one tensor. A tensor is undefined if it was made without a value, or if another task has the value. Then only
/// defined(), owners(), copies and assignments are allowed; all other calls are Error(usage).
///
///     Tensor t = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
///     t.data<float>()[3];  // 4
///     t.at(1, 0);          // 3
class Tensor {
 public:
  Tensor() = default;

  /// Zeros of that dtype and these sizes. Throws Error(plan) for a negative dim or overflow, and Error(resource) if
  /// memory runs out.
  ///
  ///     Tensor(DType::float32, {2, 2});  // [[0 0] [0 0]]
  Tensor(DType dtype, std::vector<std::int64_t> sizes);
  /// A tensor that refers to `bytes` and copies nothing; `owner` keeps the bytes alive. Error(file) unless the number
  /// of bytes is product of sizes × element size. Does not check that every bool is 0 or 1.
  Tensor(DType dtype, std::vector<std::int64_t> sizes, std::shared_ptr<const void> owner,
         std::span<const std::byte> bytes);

  /// A copy of bytes from a file. Error(file) unless the number of bytes is product of sizes × element size, and every
  /// bool is 0 or 1.
  ///
  ///     const std::vector<std::byte> bytes(8);
  ///     Tensor::copy_of(DType::int32, {2}, bytes);  // [0 0]
  [[nodiscard]] static Tensor copy_of(DType dtype, std::vector<std::int64_t> sizes, std::span<const std::byte> bytes);

  /// A tensor of these sizes with a copy of the values, row by row. The dtype is the dtype of T: float gives float32.
  /// Error(plan) if the number of values does not fit the sizes.
  ///
  ///     Tensor::of<float>({2, 2}, {1, 2, 3, 4});  // [[1 2] [3 4]]
  template <class T>
  [[nodiscard]] static Tensor of(std::vector<std::int64_t> sizes, std::initializer_list<T> values) {
    return of<T>(std::move(sizes), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  [[nodiscard]] static Tensor of(std::vector<std::int64_t> sizes, std::span<const T> values) {
    return of_values(dtype_of<T>(), std::move(sizes), std::as_bytes(values));
  }

  /// A tensor of rank 1.
  ///
  ///     Tensor::of<std::int64_t>({5, 6});  // int64[2]
  template <class T>
  [[nodiscard]] static Tensor of(const std::vector<T>& values) {
    return of<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values));
  }

  /// A tensor of rank 0.
  ///
  ///     Tensor::scalar(2.5f);  // 2.5
  template <class T>
  [[nodiscard]] static Tensor scalar(T value) {
    return of<T>({}, {value});
  }

  /// An undefined tensor in place of a value that was fetched to `task`, a task of another process.
  [[nodiscard]] static Tensor fetched_to(std::int32_t task);

  /// The type of the elements.
  [[nodiscard]] DType dtype() const {
    require_defined();
    return dtype_;
  }
  /// The size of each dim, outermost first.
  [[nodiscard]] const std::vector<std::int64_t>& sizes() const {
    require_defined();
    return sizes_;
  }
  /// The number of dims.
  [[nodiscard]] int rank() const { return static_cast<int>(sizes().size()); }
  /// The number of elements.
  [[nodiscard]] std::int64_t count() const;
  /// The dtype and the sizes.
  [[nodiscard]] Type type() const;
  /// Whether the tensor has a value.
  [[nodiscard]] bool defined() const { return owner_ != nullptr; }
  /// The number of owners of the bytes (tensors and others); 1: only this tensor.
  [[nodiscard]] long owners() const { return owner_.use_count(); }

  /// The elements as bytes, in row-major order and in the byte order of the machine.
  [[nodiscard]] std::span<const std::byte> bytes() const {
    require_defined();
    return {data_, byte_count_};
  }
  /// The bytes, to be changed. Only a sole owner may change them.
  [[nodiscard]] std::span<std::byte> mutable_bytes() {
    require_defined();
    return {const_cast<std::byte*>(data_), byte_count_};
  }

  /// The elements. T must be the C++ type of the dtype; else Error(plan).
  ///
  ///     Tensor::of<float>({2}, {3, 4}).data<float>()[1];  // 4
  template <class T>
  [[nodiscard]] std::span<const T> data() const {
    check_dtype(dtype_of<T>());
    return {reinterpret_cast<const T*>(data_), byte_count_ / sizeof(T)};
  }

  /// The elements, to be changed. Only a sole owner may change them. T must be the C++ type of the dtype; else
  /// Error(plan).
  ///
  ///     Tensor t(DType::float32, {2});
  ///     t.mutable_data<float>()[1] = 5;
  ///     t;  // [0 5]
  template <class T>
  [[nodiscard]] std::span<T> mutable_data() {
    check_dtype(dtype_of<T>());
    return {reinterpret_cast<T*>(const_cast<std::byte*>(data_)), byte_count_ / sizeof(T)};
  }

  /// A copy of the elements. T must be the C++ type of the dtype; else Error(plan).
  ///
  ///     Tensor::of<float>({2}, {3, 4}).to_vector<float>();  // {3, 4}
  template <class T>
  [[nodiscard]] std::vector<T> to_vector() const {
    const std::span<const T> elements = data<T>();
    return {elements.begin(), elements.end()};
  }

  /// The element at the given index in each dim, converted: matrix.at(1, 2), and scalar.at(). Error(usage) if there is
  /// none.
  ///
  ///     Tensor::of<float>({2, 2}, {1, 2, 3, 4}).at(1, 0);  // 3
  template <std::integral... Index>
  [[nodiscard]] double at(Index... index) const {
    return number(position(std::array<std::int64_t, sizeof...(Index)>{static_cast<std::int64_t>(index)...}));
  }

  /// Element i of the flattened tensor, converted. Error(usage) if there is none. For a uint64 above the range of
  /// int64, integer() returns the int64 with the same bits.
  ///
  ///     Tensor::of<float>({2, 2}, {1, 2, 3, 4}).number(2);  // 3
  [[nodiscard]] double number(std::int64_t i) const;
  [[nodiscard]] std::int64_t integer(std::int64_t i) const;

  /// "[11 22 33]": nested brackets, with at most `limit` elements of each dim, and "…" for elements that are left out.
  ///
  ///     Tensor::of<float>({3}, {1, 2.5, 3}).str();       // "[1 2.5 3]"
  ///     Tensor::of<float>({5}, {1, 2, 3, 4, 5}).str(4);  // "[1 2 … 4 5]"
  [[nodiscard]] std::string str(int limit = 6) const;

  /// Whether both have the same dtype, sizes and bytes.
  ///
  ///     Tensor::scalar(0.0f).same_bits(Tensor::scalar(-0.0f));  // false
  [[nodiscard]] bool same_bits(const Tensor& other) const;

 private:
  static Tensor of_values(DType dtype, std::vector<std::int64_t> sizes, std::span<const std::byte> values);
  void check_dtype(DType wanted) const;
  void require_defined() const {
    if (owner_ == nullptr) reject_undefined();
  }
  [[noreturn]] void reject_undefined() const;
  [[nodiscard]] const std::byte* element(std::int64_t i) const;
  /// The number of an element in the flattened tensor.
  [[nodiscard]] std::int64_t position(std::span<const std::int64_t> index) const;

  DType dtype_ = DType::float32;
  std::int32_t fetched_to_ = -1;  // of an undefined tensor: the task that has the value; -1: none
  std::vector<std::int64_t> sizes_;
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  std::size_t byte_count_ = 0;
};

/// Whether each byte is 0 or 1, as in a tensor of bools.
[[nodiscard]] bool are_bools(std::span<const std::byte> bytes);

}  // namespace ferry
#pragma GCC visibility pop

// Attributes: the constant parameters of an op, by name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/types/dtype.hpp"
#include "graph/types/tensor.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A reference to a subgraph (a body of control flow) of the graph that holds the op.
struct SubgraphRef {
  std::uint32_t index = 0;
  bool operator==(const SubgraphRef&) const = default;
};

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;

/// The order of the alternatives is part of the file format of plans.
using AttrValue =
    std::variant<bool, std::int64_t, double, std::string, Ints, Floats, DType, Shape, Tensor, SubgraphRef>;

/// The name of the alternative that `value` holds: "int", "string", "ints", …
[[nodiscard]] std::string_view kind_name(const AttrValue& value);
/// The value as text, quoted and escaped where needed.
[[nodiscard]] std::string str(const AttrValue& value);

/// The attributes of one op, sorted by name.
class Attrs {
 public:
  using Item = std::pair<std::string, AttrValue>;

  Attrs();
  Attrs(std::initializer_list<Item> items);
  Attrs(const Attrs& other);
  Attrs(Attrs&& other) noexcept;
  Attrs& operator=(const Attrs& other);
  Attrs& operator=(Attrs&& other) noexcept;
  ~Attrs();

  void set(std::string_view name, AttrValue value);
  [[nodiscard]] const AttrValue* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The attribute. Throws Error(plan) if it is missing or of another kind.
  template <class T>
  [[nodiscard]] const T& get(std::string_view name) const {
    const AttrValue* value = find(name);
    if (value == nullptr || !std::holds_alternative<T>(*value)) bad_attribute(name, value);
    return std::get<T>(*value);
  }
  template <class T>
  [[nodiscard]] T get_or(std::string_view name, T fallback) const {
    return has(name) ? get<T>(name) : fallback;
  }

  [[nodiscard]] bool empty() const;
  [[nodiscard]] const Item* begin() const;
  [[nodiscard]] const Item* end() const;
  /// Whether both have the same names and the same values. Floating-point numbers and tensors are compared bit by bit.
  [[nodiscard]] bool same(const Attrs& other) const;

 private:
  [[noreturn]] static void bad_attribute(std::string_view name, const AttrValue* found);

  std::vector<Item> items_;
};

}  // namespace ferry
#pragma GCC visibility pop

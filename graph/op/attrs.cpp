#include "graph/op/attrs.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/number_text.hpp"

namespace ferry {
namespace {

std::string number(double value) {
  return digits_text(value, 17);
}

template <class T, class F>
std::string list(const std::vector<T>& values, F one) {
  std::string text = "[";
  for (const T& value : values) text.append(text.size() > 1 ? "," : "").append(one(value));
  return text + "]";
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same_value(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class T>(const T& one) {
        const T& other = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>)
          return one.same_bits(other);
        else if constexpr (std::is_same_v<T, double>)
          return same_bits(one, other);
        else if constexpr (std::is_same_v<T, Floats>)
          return std::ranges::equal(one, other, same_bits);
        else
          return one == other;
      },
      a);
}

}  // namespace

std::string_view kind_name(const AttrValue& value) {
  static constexpr std::string_view kNames[] = {"bool",   "int",   "float", "string", "ints",
                                                "floats", "dtype", "shape", "tensor", "subgraph"};
  return kNames[value.index()];
}

std::string str(const AttrValue& value) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return number(v); }
    std::string operator()(const std::string& v) const { return formatted("\"{}\"", v); }
    std::string operator()(const Ints& v) const {
      return list(v, [](std::int64_t i) { return std::to_string(i); });
    }
    std::string operator()(const Floats& v) const { return list(v, number); }
    std::string operator()(DType v) const { return std::string(name_of(v)); }
    std::string operator()(const Shape& v) const { return v.str(); }
    std::string operator()(const Tensor& v) const { return v.type().str() + v.str(); }
    std::string operator()(SubgraphRef v) const { return "subgraph " + std::to_string(v.index); }
  };
  return std::visit(Visitor{}, value);
}

// Defined here because compiling copies of a variant with this many alternatives takes long.
Attrs::Attrs() = default;
Attrs::Attrs(const Attrs& other) = default;
Attrs::Attrs(Attrs&& other) noexcept = default;
Attrs& Attrs::operator=(const Attrs& other) = default;
Attrs& Attrs::operator=(Attrs&& other) noexcept = default;
Attrs::~Attrs() = default;

Attrs::Attrs(std::initializer_list<Item> items) {
  for (const Item& item : items) set(item.first, item.second);
}

void Attrs::set(std::string_view name, AttrValue value) {
  const auto at = std::lower_bound(items_.begin(), items_.end(), name,
                                   [](const Item& item, std::string_view wanted) { return item.first < wanted; });
  if (at != items_.end() && at->first == name)
    at->second = std::move(value);
  else
    items_.insert(at, Item(std::string(name), std::move(value)));
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const Item& item : items_)
    if (item.first == name) return &item.second;
  return nullptr;
}

bool Attrs::empty() const {
  return items_.empty();
}

const Attrs::Item* Attrs::begin() const {
  return items_.data();
}

const Attrs::Item* Attrs::end() const {
  return items_.data() + items_.size();
}

bool Attrs::same(const Attrs& other) const {
  return std::equal(items_.begin(), items_.end(), other.items_.begin(), other.items_.end(),
                    [](const Item& a, const Item& b) { return a.first == b.first && same_value(a.second, b.second); });
}

void Attrs::bad_attribute(std::string_view name, const AttrValue* found) {
  if (found == nullptr) throw Error(Code::plan, "attribute '" + std::string(name) + "' is missing");
  throw Error(Code::plan,
              "attribute '" + std::string(name) + "' has the wrong type: " + std::string(kind_name(*found)));
}

}  // namespace ferry

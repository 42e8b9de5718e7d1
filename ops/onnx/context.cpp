#include "ops/onnx/context.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/onnx/dtypes.hpp"

namespace ferry::onnx {
namespace {

template <class T>
constexpr std::string_view kind = "graph";
template <>
constexpr std::string_view kind<std::int64_t> = "integer";
template <>
constexpr std::string_view kind<double> = "number";
template <>
constexpr std::string_view kind<std::string> = "string";
template <>
constexpr std::string_view kind<Ints> = "list of integers";
template <>
constexpr std::string_view kind<Floats> = "list of numbers";
template <>
constexpr std::string_view kind<Strings> = "list of strings";
template <>
constexpr std::string_view kind<Tensor> = "tensor";

DType dtype_or_fail(std::int64_t number) {
  const auto dtype = dtype_of_number(number);
  if (!dtype) Context::fail("ferry does not have the dtype " + dtype_name(number) + " of ONNX");
  return *dtype;
}

}  // namespace

void Context::fail(const std::string& why) {
  throw Error(Code::file, why);
}

bool Context::is_used(int output) const {
  return output < outputs() && !node_.outputs[output].empty();
}

Value Context::scalar_if_one(int i) {
  if (!has(i)) return {};
  const Value zero = in(i);
  return zero.rank() == 1 && is_one(zero.shape()[0]) ? reshape(zero, {}) : zero;
}

Values Context::all() {
  Values values;
  for (int i = 0; i < inputs(); ++i) values.push_back(in(i));
  return values;
}

Ints Context::sizes(int i) {
  const Shape shape = type(i).shape;
  Ints sizes;
  for (int d = 0; d < shape.rank(); ++d) sizes.push_back(size(i, d));
  return sizes;
}

std::int64_t Context::size(int i, std::int64_t axis) {
  const Shape shape = type(i).shape;
  const Dim& dim = shape[this->axis(i, axis)];
  const std::string what =
      formatted("dim {} of {:?} {} must be known when the model is imported", axis, node_.inputs[i], shape.str());
  if (dim.fixed()) return dim.size();
  if (dim.bounded()) fail(what + ", and is known only when it runs");
  throw Error(Code::usage, what).hint(sizes_hint(i, dim));
}

Ints Context::window_of(int i) {
  const Ints sizes = this->sizes(i);
  if (sizes.size() < 3) fail("its filter has " + std::to_string(sizes.size()) + " dims");
  Ints window(sizes.begin() + 2, sizes.end()), given = integers("kernel_shape", window);
  if (given != window)
    fail("kernel_shape is " + Shape(std::span<const std::int64_t>(given)).str() + ", and its filter has " +
         Shape(std::span<const std::int64_t>(sizes)).str());
  return window;
}

int Context::axis(int i, std::int64_t axis) {
  const int rank = this->rank(i);
  if (axis < -rank || axis >= rank)
    fail("axis " + std::to_string(axis) + " is out of range for an input of rank " + std::to_string(rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

const std::vector<Out>& Context::list(int i) {
  const Out given = out(i);
  if (given.list == nullptr) fail("input " + std::to_string(i) + " should be a sequence");
  return *given.list;  // input i keeps the list alive
}

Ints Context::ints(int i) {
  const Tensor tensor = constant(i);
  Ints result;
  for (std::int64_t k = 0; k < tensor.count(); ++k) result.push_back(integer_at(tensor, k));
  return result;
}

double Context::number(int i) {
  return only(i, constant(i)).number(0);
}

std::int64_t Context::whole_number(int i) {
  return integer_at(only(i, constant(i)), 0);
}

Number Context::number_of(int i) {
  const std::vector<Number> all = numbers(i);
  if (all.size() != 1) fail("input " + std::to_string(i) + " should be one number, and is " + type(i).str());
  return all[0];
}

std::int64_t Context::integer_at(const Tensor& tensor, std::int64_t i) {
  if (!is_float(tensor.dtype())) return tensor.integer(i);
  const double number = tensor.number(i);
  if (!(std::abs(number) < 0x1p62)) fail(digits_text(number, 6) + " is no number of elements");
  return static_cast<std::int64_t>(number);
}

Tensor Context::only(int i, Tensor tensor) {
  if (tensor.count() != 1) fail("input " + std::to_string(i) + " should be one number, and is " + tensor.type().str());
  return tensor;
}

const Attribute* Context::read_attribute(std::string_view name) const {
  attributes_read_.emplace(name);
  return attribute(name);
}

void Context::no_effect(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) attributes_read_.emplace(name);
}

void Context::check_attributes() const {
  for (const Attribute& one : node_.attributes) {
    if (attributes_read_.contains(one.name) || one.name.starts_with("__"))
      continue;                                                 // ONNX reserves such names for tools
    if (opset_ < 6 && one.name == "consumed_inputs") continue;  // it listed inputs that might be overwritten
    refuse_attribute(one.name, formatted("{} in operator set {}", node_.full_op(), opset_),
                     {attributes_read_.begin(), attributes_read_.end()});
  }
}

void Context::refuse_attribute(const std::string& name, const std::string& of, Strings known) {
  for (std::string& one : known) one = formatted("{:?}", one);
  fail(formatted("attribute {:?} is not known of {}; known {}", name, as_is(of),
                 as_is(known.empty() ? "is none" : (known.size() == 1 ? "is " : "are ") + join(known, ", "))));
}

template <class T>
const T* Context::get(std::string_view name) const {
  const Attribute* found = read_attribute(name);
  if (found == nullptr) return nullptr;
  if (const T* value = std::get_if<T>(&found->value)) return value;
  fail("attribute '" + std::string(name) + "' should be a " + std::string(kind<T>));
}

template <class T>
const T& Context::require(std::string_view name) const {
  const T* value = get<T>(name);
  if (value == nullptr) fail("attribute '" + std::string(name) + "' is missing");
  return *value;
}

std::int64_t Context::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* value = get<std::int64_t>(name);
  return value == nullptr ? otherwise : *value;
}
double Context::real(std::string_view name, double otherwise) const {
  const auto* value = get<double>(name);
  return value == nullptr ? otherwise : *value;
}
std::string Context::text(std::string_view name, std::string_view otherwise) const {
  const auto* value = get<std::string>(name);
  return value == nullptr ? std::string(otherwise) : *value;
}
Ints Context::integers(std::string_view name, const Ints& otherwise) const {
  const auto* value = get<Ints>(name);
  return value == nullptr ? otherwise : *value;
}
Floats Context::reals(std::string_view name, const Floats& otherwise) const {
  const auto* value = get<Floats>(name);
  return value == nullptr ? otherwise : *value;
}
Strings Context::texts(std::string_view name, const Strings& otherwise) const {
  const auto* value = get<Strings>(name);
  return value == nullptr ? otherwise : *value;
}
std::int64_t Context::integer(std::string_view name) const {
  return require<std::int64_t>(name);
}
double Context::real(std::string_view name) const {
  return require<double>(name);
}
std::string Context::text(std::string_view name) const {
  return require<std::string>(name);
}
Tensor Context::tensor(std::string_view name) const {
  return require<Tensor>(name);
}
DType Context::dtype(std::string_view name) const {
  return dtype_or_fail(integer(name));
}
DType Context::dtype(std::string_view name, DType otherwise) const {
  return has_attr(name) ? dtype(name) : otherwise;
}

std::optional<Ints> Context::ints_of(int i, std::string_view name) {
  if (has(i)) return ints(i);
  if (has_attr(name)) return integers(name);
  return std::nullopt;
}

const GraphDef& Context::body(std::string_view name) const {
  return *require<std::shared_ptr<const GraphDef>>(name);
}

Value Context::scalar(double number, DType dtype) {
  return number_constant(graph_, number, dtype, SourceLine());
}

}  // namespace ferry::onnx

#include "base/format.hpp"
#include "kernels/compiled_region.hpp"

namespace ferry {

RegionText::Value RegionText::array(DType dtype, std::string_view access) {
  arrays_ += formatted("array {} {}\n", name_of(dtype), access);
  return {.is_call = false, .index = count_++};
}

RegionText::Value RegionText::call(std::string function, std::vector<Value> inputs) {
  calls_.push_back({std::move(function), std::move(inputs)});
  return {.is_call = true, .index = calls_.size() - 1};
}

std::string RegionText::str() const {
  std::string text = row_ > 1 ? formatted("rows {}\n", row_) + arrays_ : arrays_;
  for (const Call& call : calls_) {
    text += "call " + call.function;
    for (const Value input : call.inputs) text += formatted(" {}", number(input));
    text += "\n";
  }
  for (const Store& store : stores_) text += formatted("store {} {}\n", number(store.value), store.array);
  return text;
}

}  // namespace ferry

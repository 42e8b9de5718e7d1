#include "ops/onnx/out.hpp"

#include <numeric>

#include "base/error.hpp"
#include "ops/array/array.hpp"

namespace ferry::onnx {

Out::Out(std::vector<Out> elements) : list(std::make_shared<const std::vector<Out>>(std::move(elements))) {}

void Out::check_tensor(const std::string& name) const {
  if (list != nullptr) throw Error(Code::file, "the value {:?} is a sequence, not a tensor", name);
  if (absent()) throw Error(Code::file, "the value {:?} is optional, and has no element", name);
}

Type Out::type() const {
  if (known.defined()) return known.type();
  Type type = value.type();
  for (std::size_t d = 0; d < perm.size(); ++d)
    type.shape[static_cast<int>(d)] = value.shape()[static_cast<int>(perm[d])];
  return type;
}

Out arranged(const Value& value, const Ints& perm) {
  Ints order(perm.size());
  std::iota(order.begin(), order.end(), 0);
  if (perm == order) return value;
  const Dim& first = value.shape()[0];
  if (perm[0] == 0 || first.fixed() || !first.symbol().empty()) return transpose(value, perm);
  Out out(value);
  out.perm = perm;
  return out;
}

}  // namespace ferry::onnx

#include "graph/dtype.hpp"

#include <string>

#include "base/error.hpp"

namespace ferry {

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "bool";
    case DType::uint8:
      return "uint8";
    case DType::int32:
      return "int32";
    case DType::int64:
      return "int64";
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
  }
  return "invalid";
}

DType dtype_named(std::string_view name) {
  std::string known;
  for (DType dtype : kDTypes) {
    if (name_of(dtype) == name) return dtype;
    known.append(known.empty() ? "" : ", ").append(name_of(dtype));
  }
  throw Error(Code::file, "unknown dtype '" + std::string(name) + "'").hint("one of " + known);
}

}  // namespace ferry

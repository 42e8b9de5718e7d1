#include "graph/types/layout.hpp"

namespace ferry {

std::string_view name_of(Reduce reduce) {
  switch (reduce) {
    case Reduce::none:
      return "none";
    case Reduce::sum:
      return "sum";
    case Reduce::max:
      return "max";
    case Reduce::min:
      return "min";
  }
  return "invalid";
}

std::string AxisLayout::str() const {
  switch (kind) {
    case Kind::replicated:
      return "R";
    case Kind::split:
      return "S(" + std::to_string(dim) + ")";
    case Kind::partial:
      return "P(" + std::string(name_of(reduce)) + ")";
  }
  return "invalid";
}

std::string str(const Layout& layout) {
  std::string text = "[";
  for (const AxisLayout& axis : layout) text.append(text.size() > 1 ? "," : "").append(axis.str());
  return text + "]";
}

std::string Mesh::str() const {
  std::string text;
  for (const Axis& axis : axes) {
    text.append(text.empty() ? "" : ",").append(axis.name).append("=");
    text += axis.size == kOpen ? "*" : std::to_string(axis.size);
  }
  return text + " on " + devices.str();
}

}  // namespace ferry

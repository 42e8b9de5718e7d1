#include "graph/op/op_def.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ferry {

int OpDef::input_count() const {
  const std::string_view inputs = types.substr(0, types.find("->"));
  if (inputs.ends_with("...")) return -1;
  return inputs.empty() ? 0 : static_cast<int>(std::count(inputs.begin(), inputs.end(), ',')) + 1;
}

void OpSet::add(const OpDef& def) {
  const auto at = std::lower_bound(defs_.begin(), defs_.end(), def.name,
                                   [](const OpDef* d, std::string_view name) { return d->name < name; });
  if (at != defs_.end() && (*at)->name == def.name)
    throw Error(Code::usage, "op '" + std::string(def.name) + "' is defined twice");
  defs_.insert(at, &def);
}

void OpSet::add(std::span<const OpDef* const> defs) {
  for (const OpDef* def : defs) add(*def);
}

const OpDef* OpSet::find(std::string_view name) const {
  const auto at = std::lower_bound(defs_.begin(), defs_.end(), name,
                                   [](const OpDef* d, std::string_view wanted) { return d->name < wanted; });
  return at != defs_.end() && (*at)->name == name ? *at : nullptr;
}

std::vector<const OpDef*> OpSet::all() const {
  return defs_;
}

}  // namespace ferry

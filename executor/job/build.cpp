#include "executor/job/build.hpp"

#include "base/hash.hpp"
#include "ops/op_set.hpp"
#include "plan/plan.hpp"

namespace ferry {
namespace {

std::string schema_hash() {
  Hasher hasher;
  hasher.add(std::uint64_t{kPlanVersion});
  for (const OpDef* def : default_ops().all())
    hasher.add(def->name).add(def->version).add(def->types).add(def->index).add(static_cast<int>(def->reduce));
  return hasher.hex().substr(0, 8);
}

}  // namespace

const std::string& build_text() {
  static const std::string text =
      "ferry " FERRY_VERSION ", protocol " + std::to_string(kProtocolVersion) + ", ops " + schema_hash();
  return text;
}

}  // namespace ferry

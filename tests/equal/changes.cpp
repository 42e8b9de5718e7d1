#include "tests/equal/changes.hpp"

#include "tests/equal/changes/families.hpp"

namespace ferry::test {

std::vector<MeaningChange> meaning_changes() {
  std::vector<MeaningChange> all;
  for (const auto family : {kernel_changes(), message_changes(), port_changes(), control_changes()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace ferry::test

#include "tests/support/mutations/mutations.hpp"

#include "tests/support/mutations/families.hpp"

namespace ferry::test {

std::vector<Mutation> mutations() {
  std::vector<Mutation> all;
  for (const auto family :
       {channel_mutations(), collective_mutations(), bucket_mutations(), schedule_mutations(), memory_mutations(),
        tile_mutations(), stencil_mutations(), value_mutations(), region_mutations()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace ferry::test

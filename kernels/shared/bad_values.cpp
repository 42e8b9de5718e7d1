#include "kernels/shared/bad_values.hpp"

namespace ferry {

BadValue bad_label(std::size_t input, std::int64_t label, std::int64_t classes) {
  return {input, "the label " + std::to_string(label) + " is not one of " + std::to_string(classes) +
                     " classes, 0 to " + std::to_string(classes - 1)};
}

}  // namespace ferry

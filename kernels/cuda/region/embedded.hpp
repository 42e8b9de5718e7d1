// The headers that generated kernels include, as texts (embed.py).
#pragma once

#include <span>

namespace ferry::cuda {

struct EmbeddedHeader {
  const char* name;  ///< as it is included: "kernels/functors.hpp", "bit"
  const char* text;
};
[[nodiscard]] std::span<const EmbeddedHeader> embedded_headers();

}  // namespace ferry::cuda

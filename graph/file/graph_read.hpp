// Parts of a graph file's message as ferry's own types; graph_decode.cpp puts them together. Each throws Error(file)
// for what is missing, out of range or contradictory.
#pragma once

#include <functional>

#include "graph/file/graph_file.hpp"
#include "graph/graph.pb.h"

namespace ferry::graph_read {

/// Most dims of a shape, and attributes of an op.
inline constexpr int kMaxRank = 32;
inline constexpr int kMaxAttrs = 256;

[[nodiscard]] Shape shape(const file::Shape& from);
[[nodiscard]] Type type(const file::Type& from);
[[nodiscard]] Tensor tensor(const file::Tensor& from, const TensorBeside& beside);
[[nodiscard]] Mesh mesh(const file::Mesh& from);
[[nodiscard]] Layout layout(const file::Layout& from);

/// `body` gives the reference for the number of a body.
[[nodiscard]] Attrs attrs(const file::Op& from, const TensorBeside& beside,
                          const std::function<SubgraphRef(std::uint32_t)>& body);

/// "name:2" as name and output number.
struct Reference {
  std::string_view op;
  std::uint32_t output = 0;
};
[[nodiscard]] Reference reference(std::string_view text);

}  // namespace ferry::graph_read

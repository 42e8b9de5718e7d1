// Converts the parts of a graph file's message to ferry's own types; graph_decode.cpp assembles them. Each function
// throws Error(file) for missing, out-of-range or contradictory fields.
#pragma once

#include <functional>

#include "graph/ferry_graph.pb.h"
#include "graph/file/graph_file.hpp"

namespace ferry::graph_read {

/// The limit of the attributes of an op.
inline constexpr int kMaxAttrs = 256;

[[nodiscard]] Shape shape(const file::Shape& from);
[[nodiscard]] Type type(const file::Type& from);
[[nodiscard]] Tensor tensor(const file::Tensor& from, const TensorBeside& beside);
[[nodiscard]] Mesh mesh(const file::Mesh& from);
[[nodiscard]] Layout layout(const file::Layout& from);

/// `body` builds the body with the given number in the file, and returns a reference to it.
[[nodiscard]] Attrs attrs(const file::Op& from, const TensorBeside& beside,
                          const std::function<SubgraphRef(std::uint32_t)>& body);

/// "name:2" as the op's name and the output number.
struct Reference {
  std::string_view op;
  std::uint32_t output = 0;
};
[[nodiscard]] Reference reference(std::string_view text);

}  // namespace ferry::graph_read

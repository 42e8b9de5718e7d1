#include "ops/gradient/row_products.hpp"

#include <algorithm>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"

namespace ferry {
namespace {

bool transposes(const Op& op, std::string_view which) {
  return op.attrs().get_or(which, false);
}

/// Stacks values of one type along a new first dim.
Value stacked(Values values) {
  for (Value& value : values) value = expand_dims(value, {0});
  return concat(values, 0);
}

}  // namespace

RowProducts::RowProducts(const Graph& graph, OpId last, const std::vector<bool>& wanted) {
  std::unordered_map<ValueId, std::vector<std::size_t>> of_matrix;
  for (OpId id = 0; id <= last; ++id) {
    const Op op = graph.op(id);
    if (op.def().is(kEntersMicrobatch)) return;
    if (op.def().name != "MatMul" || !wanted[op.inputs()[1]] || !is_few_rows(op)) continue;
    std::vector<std::size_t>& of = of_matrix[op.inputs()[1]];
    const auto alike = std::find_if(of.begin(), of.end(),
                                    [&](std::size_t group) { return is_alike(op, graph.op(groups_[group].ops[0])); });
    if (alike == of.end()) {
      of.push_back(groups_.size());
      groups_.push_back({{id}, {}, {}});
    } else {
      groups_[*alike].ops.push_back(id);
    }
  }
  for (std::size_t group = 0; group < groups_.size(); ++group)
    if (groups_[group].ops.size() > 1)
      for (const OpId id : groups_[group].ops) group_of_[id] = group;
}

bool RowProducts::is_few_rows(const Op& op) {
  const Shape& a = op.graph().type(op.inputs()[0]).shape;
  const Shape& b = op.graph().type(op.inputs()[1]).shape;
  if (op.remade() != 0 || transposes(op, "transpose_a") || b.rank() != 2 || !a.fixed() || !b.fixed()) return false;
  double rows = 1;
  for (int d = 0; d + 1 < a.rank(); ++d) rows *= static_cast<double>(a[d].size());
  const auto k = static_cast<double>(b[0].size()), n = static_cast<double>(b[1].size());
  return rows * (k + n) < k * n;
}

bool RowProducts::is_alike(const Op& a, const Op& b) {
  const Graph& graph = a.graph();
  return graph.type(a.inputs()[0]) == graph.type(b.inputs()[0]) &&
         transposes(a, "transpose_b") == transposes(b, "transpose_b") &&
         a.annotation().device == b.annotation().device && a.annotation().mesh == b.annotation().mesh;
}

void RowProducts::store_factors(const Op& op, const Value& a, const Value& dy) {
  Group& group = groups_[group_of_.at(op.id())];
  const bool transposed = transposes(op, "transpose_b");
  group.left.push_back(transposed ? dy : a);
  group.right.push_back(transposed ? a : dy);
}

Value RowProducts::finish(OpId op) {
  const auto found = group_of_.find(op);
  if (found == group_of_.end()) return {};
  Group& group = groups_[found->second];
  if (group.ops[0] != op || group.left.empty()) return {};
  if (group.left.size() == 1) {
    const bool matrices = group.left[0].rank() == 2;
    return matrices ? matmul(group.left[0], group.right[0], true) : matmul_over_rows(group.left[0], group.right[0]);
  }
  std::reverse(group.left.begin(), group.left.end());
  std::reverse(group.right.begin(), group.right.end());
  const Value left = stacked(std::move(group.left));
  return matmul_over_rows(left, stacked(std::move(group.right)));
}

}  // namespace ferry

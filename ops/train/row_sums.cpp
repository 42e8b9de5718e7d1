#include "ops/train/row_sums.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "base/error.hpp"

namespace ferry {
namespace {

/// How a value depends on the rows of a batch.
enum class RowDependence : std::uint8_t {
  nothing,  ///< it does not depend on them
  same,     ///< it is the same for any rows: the size of another dim of a value that has rows
  rows,     ///< it has elements for each row
  count,    ///< the number of rows, times a constant
  sum,      ///< a sum over the rows
  mean,     ///< a mean over the rows with equal weights
  other     ///< anything else
};

class RowSumFinder {
 public:
  RowSumFinder(Graph& graph, const Values& batch, std::span<const OpId> ops,
               const std::function<Value(ValueId)>& part_of, const std::string& what)
      : graph_(graph), part_of_(part_of), what_(what), trained_(graph.size()) {
    for (OpId id = 0; id < graph.size(); ++id) trained_[id] = is_trained(graph.op(id));
    for (const Value& value : batch) kinds_[value.id()] = RowDependence::rows;
    for (const OpId id : ops) classify(graph.op(id));
  }

  RowSums find(const Values& values) {
    for (const Value& value : values) pending_.push_back(value.id());
    while (!pending_.empty()) {
      const ValueId id = pending_.back();
      pending_.pop_back();
      cut(id);
    }
    found_.after.assign(after_.begin(), after_.end());
    return std::move(found_);
  }

 private:
  // ---- Kinds ----

  /// Whether the op is a variable or depends on one.
  bool is_trained(const Op& op) const {
    return op.def().role == OpRole::variable ||
           std::ranges::any_of(op.inputs(), [&](ValueId input) { return trained_[graph_.producer(input)]; });
  }

  RowDependence kind(ValueId id) const {
    const auto found = kinds_.find(id);
    return found == kinds_.end() ? RowDependence::nothing : found->second;
  }

  void classify(const Op& op) {
    if (kind(op.output(0)) == RowDependence::rows) return;  // a value of the batch
    const RowDependence made = kind_of(op);
    for (int o = 0; o < op.outputs(); ++o) kinds_[op.output(o)] = has_rows(op.output(o)) ? RowDependence::rows : made;
  }

  bool has_rows(ValueId id) const {
    const Type whole = graph_.type(id), part = part_of_(id).type();
    const auto is_open = [](const Dim& dim) { return !dim.known() && dim.symbol().empty(); };
    return whole != part || std::ranges::any_of(whole.shape.dims(), is_open);
  }

  static bool reads(const Op& op, std::size_t i) { return i >= 32 || (op.def().unread >> i & 1U) == 0; }

  /// How a result of the op depends on the rows, if the result does not have elements for each row.
  RowDependence kind_of(const Op& op) const {
    const auto inputs = op.inputs();
    std::set<RowDependence> read, linear, others;  // kinds of the inputs
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!reads(op, i)) continue;
      read.insert(kind(inputs[i]));
      const std::uint32_t mask = op.def().linear_in(graph_.type(inputs[i]).dtype);
      ((mask >> std::min<std::size_t>(i, 31) & 1U) != 0 ? linear : others).insert(kind(inputs[i]));
    }
    if (std::ranges::all_of(read, is_fixed)) return counts_rows(op) ? RowDependence::count : RowDependence::same;
    if (read.contains(RowDependence::rows))
      return op.def().reduce == Reduce::sum ? RowDependence::sum : RowDependence::other;
    if (op.def().name == "Div" && kind(inputs[0]) == RowDependence::sum && kind(inputs[1]) == RowDependence::count)
      return RowDependence::mean;
    if (!std::ranges::all_of(others, is_fixed)) return RowDependence::other;
    const auto are = [&](auto... kinds) {
      return std::ranges::all_of(linear, [&](RowDependence one) { return ((one == kinds) || ...); });
    };
    if (are(RowDependence::sum, RowDependence::count)) return RowDependence::sum;
    return are(RowDependence::mean, RowDependence::nothing, RowDependence::same) ? RowDependence::mean
                                                                                 : RowDependence::other;
  }
  static bool is_fixed(RowDependence kind) { return kind == RowDependence::nothing || kind == RowDependence::same; }

  /// Whether one of the sizes that the op multiplies is a number of rows. The op uses only the sizes of its inputs.
  bool counts_rows(const Op& op) const {
    const auto* const axes = std::get_if<std::vector<std::int64_t>>(op.attrs().find("axes"));
    for (const ValueId input : op.inputs()) {
      const Shape &whole = graph_.type(input).shape, part = part_shape(input);
      for (int d = 0; d < whole.rank(); ++d)
        if ((axes == nullptr || std::ranges::find(*axes, d) != axes->end()) &&
            (!whole[d].known() || whole[d] != part[d]))
          return true;
    }
    return false;
  }

  Shape part_shape(ValueId id) const {
    return kind(id) == RowDependence::nothing ? graph_.type(id).shape : part_of_(id).type().shape;
  }

  // ---- Cutting ----

  /// Adds the value to the ends if it is a sum or mean; else continues with the inputs of its op.
  void cut(ValueId id) {
    const RowDependence made = kind(id);
    const Op op = graph_.op(graph_.producer(id));
    if (made == RowDependence::rows)
      refuse(op, "has elements for each row: it is " + graph_.type(id).str() + " of the batch and " +
                     part_of_(id).type().str() + " of a part");
    if (made != RowDependence::other) {
      if (seen_.insert(id).second)
        found_.ends.push_back({graph_.value(id), made == RowDependence::mean || made == RowDependence::same});
      return;
    }
    if (!after_.insert(op.id()).second) return;
    const auto inputs = op.inputs();
    if (std::ranges::any_of(inputs, [&](ValueId input) { return kind(input) == RowDependence::rows; }))
      refuse(op, "is made of all rows of the batch, and is no sum or mean over them");
    const bool any_trained = std::ranges::any_of(inputs, [&](ValueId input) {
      return kind(input) != RowDependence::nothing && trained_[graph_.producer(input)];
    });
    for (const ValueId input : inputs) {
      // A value that depends on no variable, such as the sum of a mask, is computed from the whole batch. So gradients
      // need not wait until all microbatches have computed their parts of it.
      const bool of_whole = kind(input) == RowDependence::nothing || (any_trained && !trained_[graph_.producer(input)]);
      if (!of_whole) pending_.push_back(input);
    }
  }

  [[noreturn]] void refuse(const Op& op, const std::string& why) const {
    throw Error(Code::plan, what_ + ": " + op.str() + " " + why + ", so it does not follow from parts of the batch")
        .at(op.line())
        .hint(
            "end in sums or means over the rows; for rows that count differently, divide a weighted sum by the sum of "
            "the weights");
  }

  Graph& graph_;
  const std::function<Value(ValueId)>& part_of_;
  const std::string& what_;
  std::vector<bool> trained_;  // for each op: whether it depends on a variable
  std::map<ValueId, RowDependence> kinds_;
  std::vector<ValueId> pending_;
  std::set<ValueId> seen_;
  std::set<OpId> after_;
  RowSums found_;
};

}  // namespace

RowSums find_row_sums(Graph& graph, const Values& batch, std::span<const OpId> ops, const Values& values,
                      const std::function<Value(ValueId)>& part_of, const std::string& what) {
  return RowSumFinder(graph, batch, ops, part_of, what).find(values);
}

}  // namespace ferry

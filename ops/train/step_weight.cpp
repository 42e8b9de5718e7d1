#include "ops/train/step_weight.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"

namespace ferry {
namespace {

class Divisors {
 public:
  explicit Divisors(const Values& values) : graph_(values[0].graph()), needed_(graph_.size()), facts_(graph_.size()) {
    for (const Value& value : values) needed_[graph_.producer(value.id())] = true;
    for (OpId id = graph_.size(); id > 0; --id)
      if (needed_[id - 1])
        for (const ValueId input : graph_.op(id - 1).inputs()) needed_[graph_.producer(input)] = true;
    for (OpId id = 0; id < graph_.size(); ++id)
      if (needed_[id]) look_at(graph_.op(id));
  }

  StepWeight weight(const std::string& what, const SourceLine& line) const {
    if (weights_.size() > 1 || (weights_.size() == 1 && counts_))
      throw Error(Code::plan, what + ": the loss is a sum of means that are divided by different numbers, such as " +
                                  graph_.op(graph_.producer(*weights_.begin())).str())
          .at(line)
          .hint("divide all of the loss by one number, or by none");
    const auto scalar = [&](const Value& value) { return cast(value, DType::float32); };
    if (!weights_.empty()) return {scalar(graph_.value(*weights_.begin()))};
    if (!counts_ || !batch_.defined()) return {};
    const Dim rows = batch_.shape()[0];
    if (rows.fixed()) return {{}, rows.size()};
    return {size_of(batch_, {0}, DType::float32)};
  }

 private:
  /// Facts about the results of an op.
  struct Facts {
    bool trained = false;   ///< they depend on a variable, even if only by their sizes
    bool of_batch = false;  ///< the elements depend on the batch
    bool sizes = false;     ///< the sizes depend on the batch
  };

  void look_at(const Op& op) {
    Facts& facts = facts_[op.id()];
    facts.trained = op.def().role == OpRole::variable;
    if (gives_rows(op)) {
      facts.of_batch = facts.sizes = true;
      if (!batch_.defined() || (batch_.op().def().batches == nullptr && op.def().batches != nullptr))
        batch_ = graph_.value(op.output(0));
    }
    const auto inputs = op.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Facts& of = facts_[graph_.producer(inputs[i])];
      facts.trained = facts.trained || of.trained;
      facts.sizes = facts.sizes || of.sizes;
      facts.of_batch = facts.of_batch || (of.of_batch && (i >= 32 || (op.def().unread >> i & 1U) == 0));
    }
    if (op.def().name == "Div" && is_scalar(inputs[0]) && is_scalar(inputs[1])) divides(inputs[1]);
  }

  /// Whether the op returns rows of the batch. It is batch() or, as in pipeline(), an input that is not a scalar.
  bool gives_rows(const Op& op) const {
    return op.def().batches != nullptr || (op.def().role == OpRole::input && !is_scalar(op.output(0)));
  }
  bool is_scalar(ValueId id) const { return graph_.type(id).shape.rank() == 0; }

  void divides(ValueId divisor) {
    const Op made = graph_.op(graph_.producer(divisor));
    const Facts& facts = facts_[made.id()];
    if (facts.of_batch && !facts.trained) weights_.insert(divisor);
    if (!facts.of_batch && facts.sizes && counts_rows(made)) counts_ = true;
  }

  /// Whether the op multiplies sizes that may be the number of rows: the size of dim 0, or a size that is not known.
  /// Always true for an op without the attribute "axes", which only computes with such products.
  bool counts_rows(const Op& op) const {
    const auto* const axes = std::get_if<std::vector<std::int64_t>>(op.attrs().find("axes"));
    if (axes == nullptr) return true;
    const Shape& shape = graph_.type(op.inputs()[0]).shape;
    return std::ranges::any_of(*axes, [&](std::int64_t d) { return d == 0 || !shape[static_cast<int>(d)].known(); });
  }

  Graph& graph_;
  std::vector<bool> needed_;
  std::vector<Facts> facts_;   // by op
  Value batch_;                // a result of batch() if there is one, else an input
  std::set<ValueId> weights_;  // divisors of scalars that depend on the batch
  bool counts_ = false;        // whether scalars are divided by numbers of rows
};

}  // namespace

StepWeight step_weight(const Values& values, const std::string& what, const SourceLine& line) {
  const Scope here = caller_scope(values[0].graph(), line);
  return Divisors(values).weight(what, line);
}

}  // namespace ferry

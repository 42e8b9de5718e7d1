#include "ops/train/pipeline.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/copy.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/train/row_sums.hpp"
#include "ops/train/stages/cut_stages.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kMost = 1 << 16;  // most microbatches: each has a copy of the network's ops

[[noreturn]] void fail(const std::string& what, const SourceLine& line) {
  throw Error(Code::plan, "pipeline: " + what).at(line);
}

/// Whether the op uses only the sizes of its inputs.
bool reads_nothing(const Op& op) {
  const std::size_t inputs = op.inputs().size();
  return inputs < 32 && op.def().unread == (1U << inputs) - 1;
}

/// Repeats the ops that depend on the batch for each microbatch.
class Repeater {
 public:
  Repeater(Graph& graph, const Values& values, const PipelineOptions& options, const SourceLine& line)
      : graph_(graph), options_(options), line_(line), values_(values), number_(graph.size()), needed_(graph.size()) {
    find_needed();
    choose_batch();
    find_repeated();
    if (options.stages != 0) choose_stages();
  }

  /// The device or mesh of the op's copies, without layouts.
  [[nodiscard]] Annotation place_of(const Op& op) const {
    const auto chosen = chosen_.find(op.id());
    return chosen != chosen_.end() ? chosen->second : Annotation{op.annotation().device, op.annotation().mesh, {}};
  }

  /// Makes the ops of microbatch k. Returns its results, one for each of sums_.ends.
  Values microbatch(std::int64_t k) {
    const Microbatch which{k, options_.microbatches, options_.schedule, false, number_, uneven_};
    const std::string name = "microbatch" + std::to_string(k);
    const Scope names = graph_.name(name);
    copies_.clear();
    Values parts;
    for (const Value& whole : batch_) {
      const Scope place = graph_.annotated(place_of(whole.op()));
      parts.push_back(slice(whole, 0, k, kEnd, options_.microbatches));
      copies_[whole.id()] = enter_microbatch(parts.back(), whole, which, line_);
    }
    repeat(name);
    if (sums_.ends.empty()) find_ends();
    Values results;
    for (const auto& [value, mean] : sums_.ends) {
      const Value result = end_microbatch(value, which);
      results.push_back(mean ? weight_by_rows(result, value, parts[0]) : result);
    }
    return results;
  }

  /// Makes the values of the whole batch from the results of microbatch() for all microbatches, in order.
  Values combine_results(const std::vector<Values>& results) {
    copies_.clear();
    for (std::size_t i = 0; i < sums_.ends.size(); ++i) {
      const auto& [value, mean] = sums_.ends[i];
      const Scope place = graph_.annotated(place_of(value.op()));
      Value total = results[0][i];
      for (std::size_t k = 1; k < results.size(); ++k) total = total + results[k][i];
      copies_[value.id()] = mean ? total / options_.microbatches : total;
    }
    for (const OpId id : sums_.after) {
      const Op op = graph_.op(id);
      Values inputs;
      for (const ValueId input : op.inputs()) {
        const auto made = copies_.find(input);
        inputs.push_back(made == copies_.end() ? graph_.value(input) : made->second);
      }
      add_copy(op, inputs, {});
    }
    Values made;
    for (const Value& value : values_) made.push_back(copies_.at(value.id()));
    return made;
  }

 private:
  void find_needed() {
    for (const Value& value : values_) needed_[graph_.producer(value.id())] = true;
    for (OpId id = graph_.size(); id > 0; --id)
      if (needed_[id - 1])
        for (const ValueId input : graph_.op(id - 1).inputs()) needed_[graph_.producer(input)] = true;
  }

  void choose_batch() {
    batch_ = options_.batch;
    if (batch_.empty()) batch_ = needed_values([](const Op& op) { return op.def().batches != nullptr; });
    if (batch_.empty()) batch_ = needed_values([](const Op& op) { return op.def().role == OpRole::input; });
    if (batch_.empty())
      throw Error(Code::plan, "pipeline: the values depend on no batch() and no input")
          .at(line_)
          .hint("name the values to cut into microbatches: {.batch = {x}}");
    for (const Value& value : batch_) check_batch(value);
    uneven_ = std::any_of(batch_.begin(), batch_.end(), [&](const Value& value) {
      const Dim rows = value.shape()[0];
      return !rows.known() || rows.size() % options_.microbatches != 0;
    });
    for (const Value& drawn : needed_values([](const Op& op) { return op.def().is(kRandom) && reads_nothing(op); }))
      if (same_dim(drawn.shape()[0], batch_[0].shape()[0]) && !in(batch_, drawn)) batch_.push_back(drawn);
  }

  void check_batch(const Value& value) const {
    if (!value.defined()) fail("a value of the batch is undefined", line_);
    if (&value.graph() != &graph_)
      fail("the batch has " + value.op().str() + " of another graph: call pipeline() in the graph that has the batch",
           line_);
    const Shape& shape = value.shape();
    if (shape.rank() == 0 || (shape[0].known() && shape[0].size() < options_.microbatches))
      fail(value.op().str() + ", " + value.type().str() + ", cannot be cut into " +
               std::to_string(options_.microbatches) + " microbatches",
           line_);
  }

  static bool in(const Values& values, const Value& value) {
    return std::any_of(values.begin(), values.end(), [&](const Value& other) { return other.is(value); });
  }

  /// The outputs, except scalars, of the needed ops for which is_wanted(op) is true.
  template <class IsWanted>
  Values needed_values(const IsWanted& is_wanted) {
    Values found;
    for (OpId id = 0; id < needed_.size(); ++id) {
      const Op op = graph_.op(id);
      for (int i = 0; needed_[id] && is_wanted(op) && i < op.outputs(); ++i)
        if (graph_.type(op.output(i)).shape.rank() > 0) found.push_back(graph_.value(op.output(i)));
    }
    return found;
  }

  /// Finds the ops between the batch and the values.
  void find_repeated() {
    std::vector<bool> depends(graph_.values());
    for (const Value& value : batch_) depends[value.id()] = true;
    for (OpId id = 0; id < needed_.size(); ++id) {
      const Op op = graph_.op(id);
      const auto inputs = op.inputs();
      if (!needed_[id] || std::none_of(inputs.begin(), inputs.end(), [&](ValueId input) { return depends[input]; }))
        continue;
      if (op.def().is(kStateful)) fail(op.str() + " has state: it cannot be done for each microbatch", line_);
      for (int i = 0; i < op.outputs(); ++i) depends[op.output(i)] = true;
      repeated_.push_back(id);
    }
    for (const Value& value : values_)
      if (!depends[value.id()]) fail(value.op().str() + " does not depend on the batch", line_);
  }

  /// Cuts the repeated ops into stages. Also annotates their inputs: the batch, and variables that have no device yet.
  void choose_stages() {
    const auto stages = static_cast<std::size_t>(options_.stages);
    if (options_.stages < 0 || stages > repeated_.size())
      fail(std::to_string(options_.stages) + " stages of " + std::to_string(repeated_.size()) + " ops", line_);
    for (const OpId id : repeated_) {
      const Op op = graph_.op(id);
      if (!op.annotation().empty() || !op.annotation().layouts.empty())
        throw Error(Code::plan, "pipeline: " + op.str() + " is annotated, so its stage cannot be chosen")
            .at(op.line())
            .hint("leave out .stages, or the devices and meshes of the layers");
    }
    const std::vector<std::size_t> first = cut_into_stages(graph_, repeated_, stages, {});
    for (std::size_t s = 0; s < stages; ++s) {
      const Annotation place{DeviceSpec::parse("/task:" + std::to_string(s)), kNoMesh, {}};
      const std::size_t end = s + 1 < stages ? first[s + 1] : repeated_.size();
      for (std::size_t i = first[s]; i < end; ++i) chosen_[repeated_[i]] = place;
      for (std::size_t i = first[s]; i < end; ++i)
        for (const ValueId input : graph_.op(repeated_[i]).inputs()) place_sources(graph_.producer(input), place);
    }
  }

  /// Places the op, and the ops that it depends on, at `place` if they are variables or batches without an annotation.
  void place_sources(OpId id, const Annotation& place) {
    if (chosen_.contains(id) || !settled_.insert(id).second) return;
    const Op op = graph_.op(id);
    const bool is_batch =
        std::any_of(batch_.begin(), batch_.end(), [id](const Value& whole) { return whole.op().id() == id; });
    const bool settles = is_batch || op.def().role == OpRole::variable || op.def().batches != nullptr;
    if (settles && op.annotation().empty()) graph_.annotate(id, place);
    for (const ValueId input : op.inputs()) place_sources(graph_.producer(input), place);
  }

  void repeat(const std::string& draws) {
    std::optional<Scope> remade;  // a microbatch computes its own values again
    std::uint32_t scope = 0;
    for (const OpId id : repeated_) {
      const Op op = graph_.op(id);
      if (copies_.contains(op.output(0))) continue;  // a value of the batch
      if (op.remade() != scope) {
        remade.reset();
        scope = op.remade();
        if (scope != 0) remade.emplace(graph_.remade());
      }
      const std::vector<ValueId> given(op.inputs().begin(), op.inputs().end());
      Values inputs;
      for (const ValueId input : given) inputs.push_back(input_of(op, input));
      add_copy(op, inputs, draws);
    }
  }

  void add_copy(const Op& op, const Values& inputs, const std::string& draws) {
    if (op.def().is(kEffect)) {
      copies_[op.output(0)] = inputs[0];
      return;
    }
    const Values outputs = make_copy(op, inputs, draws);
    if (chosen_.contains(op.id())) graph_.annotate(outputs[0].op().id(), chosen_.at(op.id()));
    for (int i = 0; i < op.outputs(); ++i) copies_[op.output(i)] = outputs[i];
  }

  /// Finds the sums and means that end a microbatch, from the copies of one microbatch.
  void find_ends() {
    if (options_.microbatches > 1) {
      sums_ = find_row_sums(
          graph_, batch_, repeated_, values_, [&](ValueId id) { return copies_.at(id); }, "pipeline");
      return;
    }
    for (const Value& value : values_) sums_.ends.push_back({value, true});
  }

  Values make_copy(const Op& op, const Values& inputs, const std::string& draws) {
    std::vector<OpId> after;
    for (const OpId earlier : op.after()) {
      const auto copy = copies_.find(graph_.op(earlier).output(0));
      after.push_back(copy == copies_.end() ? earlier : graph_.producer(copy->second.id()));
    }
    try {
      Values outputs = copy_op(op, graph_, inputs, draws);
      graph_.add_after(outputs[0].op().id(), after);
      return outputs;
    } catch (const Error& error) {
      if (op.def().is(kEntersMicrobatch)) throw;  // from a pipeline inside this one
      throw Error(error).hint("in a pipeline layers take batches of any size: write -1 for the size of the batch");
    }
  }

  /// The value that the copy of `user` reads in place of value `id`. A value that does not depend on the batch, such as
  /// a weight, is read once on each device for all microbatches. So its gradients are added up on the device, which
  /// sends one sum.
  Value input_of(const Op& user, ValueId id) {
    if (const auto copy = copies_.find(id); copy != copies_.end()) return copy->second;
    const Value value = graph_.value(id);
    if (!is_float(value.dtype()) || value.op().def().role == OpRole::constant) return value;
    auto& shared = shared_[id];
    const Annotation place = place_of(user);
    for (const auto& [where, read] : shared)
      if (where == place) return read;
    const Scope here = graph_.annotated(place);
    const Scope line = graph_.line(value.op().line());
    return shared.emplace_back(place, identity(value)).second;
  }

  Value end_microbatch(const Value& value, const Microbatch& which) {
    const Scope place = graph_.annotated(place_of(value.op()));
    return leave_microbatch(copies_.at(value.id()), which, line_);
  }

  /// The result of a microbatch, times its number of rows, divided by the number of rows that it would have if all
  /// microbatches had equally many.
  Value weight_by_rows(const Value& result, const Value& value, const Value& part) {
    if (!uneven_) return result;
    const Scope place = graph_.annotated(place_of(value.op()));
    const auto rows_of = [](const Value& x) { return size_of(x, {0}, DType::float64); };
    const Value share = cast(rows_of(part) * options_.microbatches / rows_of(batch_[0]), result.dtype());
    // The mean of no rows is NaN.
    return batch_[0].shape()[0].known() ? result * share : select(greater(share, 0), result * share, 0);
  }

  Graph& graph_;
  const PipelineOptions& options_;
  const SourceLine& line_;
  const Values& values_;
  const std::int64_t number_;  // number of the pipeline
  std::vector<bool> needed_;   // for each op: whether the values depend on it
  Values batch_;
  bool uneven_ = false;  ///< whether microbatches may have different numbers of rows
  std::vector<OpId> repeated_;
  RowSums sums_;                                 ///< the sums and means that end a microbatch
  std::unordered_map<OpId, Annotation> chosen_;  // places of repeated ops, if options.stages is set
  std::unordered_set<OpId> settled_;
  std::unordered_map<ValueId, Value> copies_;  // copies of values in the present microbatch
  std::unordered_map<ValueId, std::vector<std::pair<Annotation, Value>>> shared_;
};

}  // namespace

Values pipeline(const Values& values, const PipelineOptions& options, source_location at) {
  if (values.empty()) fail("no values", at);
  if (options.microbatches < 1 || options.microbatches > kMost)
    fail(std::to_string(options.microbatches) + " microbatches; there may be 1 to " + std::to_string(kMost), at);
  if (options.schedule > PipelineSchedule::zero_bubble) fail("a schedule that there is not", at);
  Graph& graph = graph_of(values, at);
  for (const Value& value : values) {
    if (&value.graph() != &graph) fail(value.op().str() + " is of another graph", at);
    if (!is_float(value.dtype())) fail(value.op().str() + " is " + value.type().str() + ", which has no mean", at);
  }
  const Scope line = caller_scope(graph, at);
  const Scope names = graph.name("pipeline");
  const SourceLine here = graph.line_for(at);
  Repeater repeater(graph, values, options, here);
  // The last microbatch is made first: gradients() goes backwards, so the gradients of the first microbatch are added
  // first.
  std::vector<Values> results(static_cast<std::size_t>(options.microbatches));
  for (std::int64_t k = options.microbatches; k > 0; --k) results[k - 1] = repeater.microbatch(k - 1);
  return repeater.combine_results(results);
}

Value pipeline(const Value& loss, const PipelineOptions& options, source_location at) {
  return pipeline(Values{loss}, options, at)[0];
}

}  // namespace ferry

// Ensembles of decision trees. All trees are walked at once: a value [rows,trees] has the current node of each row in
// each tree. Each level of the trees is a few ops that replace the current nodes by their successors.
#include <algorithm>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>

#include "base/format.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/scatter.hpp"
#include "ops/build.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// How a node compares a feature with its threshold, as numbered by TreeEnsemble.
enum class Branch : std::int64_t { leq, lt, gte, gt, eq, neq, member };

/// The nodes of all trees. A leaf is its own successor, so shorter paths wait at their leaf until the longest path
/// ends.
struct Forest {
  Ints roots, feature, yes, no, branch, nan_is_yes;
  Floats threshold;
  Ints leaf;       ///< for each node, its row of `weights`; 0 if the node is not a leaf
  Floats weights;  ///< [1 + leaves,targets]; row 0 belongs to no leaf
  std::int64_t targets = 1;

  std::int64_t add(std::int64_t of_feature, double value, Branch how, bool nan) {
    const std::int64_t node = std::ssize(feature);
    feature.push_back(of_feature);
    threshold.push_back(value);
    branch.push_back(static_cast<std::int64_t>(how));
    nan_is_yes.push_back(nan ? 1 : 0);
    yes.push_back(node);
    no.push_back(node);
    leaf.push_back(0);
    return node;
  }
  [[nodiscard]] bool is_leaf(std::int64_t node) const { return yes[node] == node; }
};

[[noreturn]] void fail_walk(std::int64_t node) {
  Context::fail("node " + std::to_string(node) + " is on a path of nodes that leads to itself, or is none");
}

/// The largest number of steps from a root to a leaf. Throws Error(file) if a path is a cycle.
std::int64_t depth_of(const Forest& forest) {
  constexpr std::int64_t kDeepest = 1000;  // each level becomes several ops
  const auto nodes = std::ssize(forest.feature);
  std::vector<bool> at(static_cast<std::size_t>(nodes));
  Ints now = forest.roots;
  std::int64_t depth = 0;
  for (; !now.empty(); ++depth) {
    if (depth > nodes) fail_walk(now[0]);
    if (depth > kDeepest) Context::fail("a tree of more than " + std::to_string(kDeepest) + " levels");
    Ints next;
    for (const std::int64_t node : now) {
      if (node < 0 || node >= nodes) fail_walk(node);
      const auto i = static_cast<std::size_t>(node);
      if (forest.is_leaf(node) || at[i]) continue;
      at[i] = true;
      next.push_back(forest.yes[i]);
      next.push_back(forest.no[i]);
    }
    std::fill(at.begin(), at.end(), false);
    now = std::move(next);
  }
  return depth - 1;
}

Value list(Context& c, const Ints& numbers) {
  return c.graph().constant(Tensor::of<std::int64_t>({std::ssize(numbers)}, std::span<const std::int64_t>(numbers)));
}
Value list(Context& c, const Floats& numbers, DType dtype, Ints sizes) {
  Tensor tensor(dtype, std::move(sizes));
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::transform(numbers.begin(), numbers.end(), tensor.mutable_data<T>().begin(),
                   [](double number) { return static_cast<T>(number); });
  });
  return c.graph().constant(tensor);
}

Value compared(Branch how, const Value& x, const Value& threshold) {
  switch (how) {
    case Branch::leq:
      return less_equal(x, threshold);
    case Branch::lt:
      return less(x, threshold);
    case Branch::gte:
      return greater_equal(x, threshold);
    case Branch::gt:
      return greater(x, threshold);
    case Branch::eq:
      return equal(x, threshold);
    case Branch::neq:
      return not_equal(x, threshold);
    case Branch::member:
      break;
  }
  Context::fail("a mode of nodes that is not known");
}

/// Whether each row goes to the first successor (`yes`) of its current node in each tree. x has the features that these
/// nodes compare.
Value goes_first(Context& c, const Forest& forest, const Value& node, const Value& x) {
  const Value threshold = gather(list(c, forest.threshold, x.dtype(), {std::ssize(forest.threshold)}), node);
  Ints used;
  for (std::size_t i = 0; i < forest.branch.size(); ++i)
    if (!forest.is_leaf(static_cast<std::int64_t>(i))) used.push_back(forest.branch[i]);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  Value first;
  for (const std::int64_t how : used) {
    const Value is = compared(static_cast<Branch>(how), x, threshold);
    if (!first.defined()) {
      first = is;
      continue;
    }
    const Value here = equal(gather(list(c, forest.branch), node), how);
    first = select(here, is, first);
  }
  if (std::find(forest.nan_is_yes.begin(), forest.nan_is_yes.end(), 1) == forest.nan_is_yes.end()) return first;
  const Value tracks = equal(gather(list(c, forest.nan_is_yes), node), 1);
  return logical_or(first, logical_and(tracks, not_equal(x, x)));
}

/// Throws Error(file) if a node tests a feature that x [rows,features] does not have.
void check_features(const Forest& forest, const Shape& x) {
  if (x.rank() != 2) Context::fail(formatted("its input has {} dims; it must be [rows,features]", x.rank()));
  for (std::size_t i = 0; i < forest.feature.size(); ++i) {
    const std::int64_t feature = forest.feature[i];
    if (forest.is_leaf(static_cast<std::int64_t>(i))) continue;
    if (feature < 0) Context::fail(formatted("node {} tests feature {}; features are numbered from 0", i, feature));
    if (x[1].fixed() && feature >= x[1].size())
      Context::fail(formatted("node {} tests feature {}, and its input has {} features, 0 to {}", i, feature,
                              x[1].size(), x[1].size() - 1));
  }
}

/// The weights [rows,trees,targets] of the leaves that the rows of x [rows,features] reach.
Value leaves_of(Context& c, const Forest& forest, const Value& x, DType dtype) {
  check_features(forest, x.shape());
  const Value none = cast(zeros_like(slice(x, 1, 0, 1)), DType::int64);
  Value node = none + list(c, forest.roots);
  const std::int64_t depth = depth_of(forest);
  for (std::int64_t d = 0; d < depth; ++d) {
    const Value feature = gather(list(c, forest.feature), node);
    const Value first = goes_first(c, forest, node, gather_elements(x, feature, 1));
    const Value yes = gather(list(c, forest.yes), node);
    node = select(first, yes, gather(list(c, forest.no), node));
  }
  const Value leaf = gather(list(c, forest.leaf), node);
  const std::int64_t leaves = std::ssize(forest.weights) / forest.targets;
  return gather(list(c, forest.weights, dtype, {leaves, forest.targets}), leaf);
}

enum class Aggregate : std::uint8_t { average, sum, least, most };

/// The weight of a target that a leaf does not have.
double nothing(Aggregate aggregate) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return aggregate == Aggregate::least ? kInf : aggregate == Aggregate::most ? -kInf : 0;
}

/// The scores [rows,targets]: the weights [rows,trees,targets] aggregated over the trees.
Value aggregated(const Value& weights, Aggregate aggregate, std::int64_t trees) {
  if (aggregate == Aggregate::sum) return sum(weights, {1});
  if (aggregate == Aggregate::average) return sum(weights, {1}) / trees;
  const Value best = aggregate == Aggregate::least ? min(weights, {1}) : max(weights, {1});
  return select(equal(abs(best), nothing(Aggregate::least)), 0, best);  // no leaf has the target
}

/// The quantile of the standard normal distribution, sqrt(2) erfinv(2 p - 1), as onnxruntime computes it (Winitzki, "A
/// handy approximation for the error function and its inverse", 2008).
Value probit(const Value& p) {
  constexpr double kA = 0.147;
  const Value x = p * 2 - 1;
  const Value low = 1 - x;
  const Value logarithm = log(low * (x + 1));
  const Value half = logarithm / 2 + 2 / (std::numbers::pi * kA);
  const Value other = logarithm / kA;
  const Value size = sqrt(sqrt(square(half) - other) - half) * std::numbers::sqrt2;
  return sign(x) * size;
}

/// Applies the post_transform `how` to the scores. SOFTMAX_ZERO leaves scores of 0 unchanged.
Value transformed(const Value& scores, const std::string& how) {
  if (how == "NONE") return scores;
  if (how == "PROBIT") return probit(scores);
  if (is_one(scores.shape()[1]))
    Context::fail("a post_transform of '" + how + "' for one target, which onnxruntime leaves out");
  if (how == "LOGISTIC") return sigmoid(scores);
  if (how == "SOFTMAX") return softmax(scores, -1);
  if (how == "SOFTMAX_ZERO") {
    const Value none = equal(scores, 0);
    const Value counted = select(none, -std::numeric_limits<double>::infinity(), scores);
    return select(none, 0, softmax(counted, -1));
  }
  Context::fail("a post_transform of '" + how + "'");
}

// ---- TreeEnsemble ----

/// Replaces a node that tests whether a feature is one of several values by a chain of nodes. Each of
/// them tests for one value.
void ask_one_by_one(Forest& forest, std::int64_t node, const Floats& members) {
  const auto i = static_cast<std::size_t>(node);
  const std::int64_t yes = forest.yes[i], otherwise = forest.no[i];
  if (members.empty()) Context::fail("node " + std::to_string(node) + " has no members");
  std::int64_t at = node;
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (k > 0) {
      const std::int64_t next = forest.add(forest.feature[i], 0, Branch::eq, forest.nan_is_yes[i] != 0);
      forest.no[at] = next;
      at = next;
    }
    const auto a = static_cast<std::size_t>(at);
    forest.branch[a] = static_cast<std::int64_t>(Branch::eq);
    forest.threshold[a] = members[k];
    forest.yes[a] = yes;
    forest.no[a] = otherwise;
  }
}

Floats floats_of(const Tensor& tensor) {
  Floats numbers;
  for (std::int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(tensor.number(i));
  return numbers;
}

/// Throws Error(file) if the weights are unreasonably large: a malicious file can claim any number of targets.
void check_targets(std::int64_t targets, std::int64_t leaves) {
  constexpr std::int64_t kMost = 1 << 16, kMostWeights = 1 << 26;
  if (targets < 1 || targets > kMost || (leaves + 1) * targets > kMostWeights)
    Context::fail(std::to_string(targets) + " targets for " + std::to_string(leaves) + " leaves");
}

void check_length(std::int64_t length, std::int64_t nodes, std::string_view what) {
  if (length != nodes) Context::fail(formatted("{} has {} elements for {}", what, length, nodes));
}

Forest forest_of(Context& c) {
  Forest forest;
  forest.targets = c.integer("n_targets", 1);
  const Ints features = c.integers("nodes_featureids"), nan = c.integers("nodes_missing_value_tracks_true");
  const Ints next[] = {c.integers("nodes_truenodeids"), c.integers("nodes_falsenodeids")};
  const Ints to_leaf[] = {c.integers("nodes_trueleafs"), c.integers("nodes_falseleafs")};
  const Tensor modes = c.tensor("nodes_modes"), splits = c.tensor("nodes_splits");
  const Ints targets = c.integers("leaf_targetids");
  const Floats weights = floats_of(c.tensor("leaf_weights"));
  const auto nodes = std::ssize(features), leaves = std::ssize(targets);
  check_length(modes.count(), nodes, "nodes_modes");
  check_length(splits.count(), nodes, "nodes_splits");
  check_length(std::ssize(weights), leaves, "leaf_weights");
  if (!nan.empty()) check_length(std::ssize(nan), nodes, "nodes_missing_value_tracks_true");
  for (int side = 0; side < 2; ++side) {
    check_length(std::ssize(next[side]), nodes, "the nodes' successors");
    check_length(std::ssize(to_leaf[side]), nodes, "the nodes' leafs");
  }
  check_targets(forest.targets, leaves);
  for (std::int64_t i = 0; i < nodes; ++i)
    forest.add(features[i], splits.number(i), static_cast<Branch>(modes.integer(i)), !nan.empty() && nan[i] != 0);
  const double none = nothing(static_cast<Aggregate>(c.integer("aggregate_function", 1)));
  forest.weights.assign(static_cast<std::size_t>((leaves + 1) * forest.targets), none);
  for (std::int64_t k = 0; k < leaves; ++k) {
    const std::int64_t target = targets[k];
    if (target < 0 || target >= forest.targets) Context::fail("a target of " + std::to_string(target));
    forest.leaf[forest.add(0, 0, Branch::leq, false)] = k + 1;
    forest.weights[(k + 1) * forest.targets + target] = weights[k];
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(nodes); ++i)
    for (int side = 0; side < 2; ++side) {
      const std::int64_t to = next[side][i] + (to_leaf[side][i] != 0 ? nodes : 0);
      const std::int64_t end = to_leaf[side][i] != 0 ? nodes + leaves : nodes;
      if (next[side][i] < 0 || to >= end || to == static_cast<std::int64_t>(i)) fail_walk(to);
      (side == 0 ? forest.yes : forest.no)[i] = to;
    }
  for (const std::int64_t root : c.integers("tree_roots")) {
    // A tree of one leaf is a node with this leaf as both successors.
    if (root < 0 || root >= nodes) fail_walk(root);
    forest.roots.push_back(root);
  }
  const Floats members = c.has_attr("membership_values") ? floats_of(c.tensor("membership_values")) : Floats();
  auto member = members.begin();
  for (std::int64_t i = 0; i < nodes; ++i) {
    if (modes.integer(i) != static_cast<std::int64_t>(Branch::member)) continue;
    const auto end = std::find_if(member, members.end(), [](double number) { return number != number; });
    ask_one_by_one(forest, i, {member, end});
    member = end == members.end() ? end : end + 1;
  }
  return forest;
}

Outs to_tree_ensemble(Context& c) {
  constexpr std::string_view kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::int64_t aggregate = c.integer("aggregate_function", 1), transform = c.integer("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform >= std::ssize(kTransforms))
    Context::fail("an aggregate_function of " + std::to_string(aggregate) + ", a post_transform of " +
                  std::to_string(transform));
  const Forest forest = forest_of(c);
  const Value x = c.in(0);
  const Value weights = leaves_of(c, forest, x, x.dtype());
  const Value scores = aggregated(weights, static_cast<Aggregate>(aggregate), std::ssize(forest.roots));
  return transformed(scores, std::string(kTransforms[transform]));
}

// ---- TreeEnsembleRegressor, and the attributes that TreeEnsembleClassifier also has ----

Branch branch_named(const std::string& mode) {
  constexpr std::pair<std::string_view, Branch> kNames[] = {{"BRANCH_LEQ", Branch::leq}, {"BRANCH_LT", Branch::lt},
                                                            {"BRANCH_GTE", Branch::gte}, {"BRANCH_GT", Branch::gt},
                                                            {"BRANCH_EQ", Branch::eq},   {"BRANCH_NEQ", Branch::neq}};
  for (const auto& [name, branch] : kNames)
    if (name == mode) return branch;
  Context::fail("a mode of nodes '" + mode + "'");
}

/// The numbers of the attribute `name`, or of the tensor `name`_as_tensor.
Floats numbers_of(Context& c, const std::string& name) {
  const std::string exact = name + "_as_tensor";
  return c.opset() >= 3 && c.has_attr(exact) ? floats_of(c.tensor(exact)) : c.reals(name);
}

using NodeId = std::pair<std::int64_t, std::int64_t>;  // (id of the tree, id of the node in the tree)

std::int64_t found(const std::map<NodeId, std::int64_t>& numbers, std::int64_t tree, std::int64_t node) {
  const auto at = numbers.find({tree, node});
  if (at == numbers.end()) Context::fail("tree " + std::to_string(tree) + " has no node " + std::to_string(node));
  return at->second;
}

/// `kind` is "target" or "class": the beginning of the names of the attributes of the leaves.
Forest old_forest_of(Context& c, const std::string& kind, std::int64_t targets, Aggregate aggregate) {
  Forest forest;
  forest.targets = targets;
  c.no_effect({"nodes_hitrates", "nodes_hitrates_as_tensor"});
  const Ints trees = c.integers("nodes_treeids"), ids = c.integers("nodes_nodeids");
  const Ints features = c.integers("nodes_featureids"), nan = c.integers("nodes_missing_value_tracks_true");
  const Ints yes = c.integers("nodes_truenodeids"), no = c.integers("nodes_falsenodeids");
  const Strings modes = c.texts("nodes_modes");
  const Floats values = numbers_of(c, "nodes_values");
  const auto nodes = std::ssize(trees);
  check_length(std::ssize(ids), nodes, "nodes_nodeids");
  check_length(std::ssize(features), nodes, "nodes_featureids");
  check_length(std::ssize(yes), nodes, "nodes_truenodeids");
  check_length(std::ssize(no), nodes, "nodes_falsenodeids");
  check_length(std::ssize(modes), nodes, "nodes_modes");
  check_length(std::ssize(values), nodes, "nodes_values");
  std::map<NodeId, std::int64_t> numbers;
  std::map<std::int64_t, std::int64_t> roots;  // the first node of each tree
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const bool is_leaf = modes[i] == "LEAF";
    const std::int64_t node = forest.add(is_leaf ? 0 : features[i], values[i],
                                         is_leaf ? Branch::leq : branch_named(modes[i]), i < nan.size() && nan[i] != 0);
    if (!numbers.emplace(NodeId(trees[i], ids[i]), node).second)
      Context::fail("tree " + std::to_string(trees[i]) + " has node " + std::to_string(ids[i]) + " twice");
    roots.emplace(trees[i], node);
  }
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (modes[i] == "LEAF") continue;
    forest.yes[i] = found(numbers, trees[i], yes[i]);
    forest.no[i] = found(numbers, trees[i], no[i]);
    if (forest.is_leaf(static_cast<std::int64_t>(i))) fail_walk(ids[i]);
  }
  for (const auto& [tree, root] : roots) forest.roots.push_back(root);
  const Ints of_tree = c.integers(kind + "_treeids"), of_node = c.integers(kind + "_nodeids"),
             of = c.integers(kind + "_ids");
  const Floats weights = numbers_of(c, kind + "_weights");
  check_length(std::ssize(of_node), std::ssize(of_tree), kind + "_nodeids");
  check_length(std::ssize(of), std::ssize(of_tree), kind + "_ids");
  check_length(std::ssize(weights), std::ssize(of_tree), kind + "_weights");
  const double none = nothing(aggregate);
  forest.weights.assign(static_cast<std::size_t>(targets), none);
  for (std::size_t k = 0; k < of.size(); ++k) {
    if (of[k] < 0 || of[k] >= targets)
      Context::fail(formatted("a leaf of {} {}; there are {}, 0 to {}", as_is(kind), of[k], targets, targets - 1));
    std::int64_t& leaf = forest.leaf[found(numbers, of_tree[k], of_node[k])];
    if (leaf == 0) {
      leaf = std::ssize(forest.weights) / targets;
      forest.weights.insert(forest.weights.end(), static_cast<std::size_t>(targets), none);
    }
    double& weight = forest.weights[leaf * targets + of[k]];
    weight = aggregate == Aggregate::least  ? std::min(weight, weights[k])
             : aggregate == Aggregate::most ? std::max(weight, weights[k])
                                            : weight + weights[k];
  }
  return forest;
}

/// The scores [rows,targets] of a forest for input 0, in float64 if the input is, else in float32.
Value old_scores(Context& c, const Forest& forest, Aggregate aggregate) {
  const Value x = is_float(c.type(0).dtype) ? c.in(0) : cast(c.in(0), DType::float32);
  const DType within = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  return aggregated(leaves_of(c, forest, x, within), aggregate, std::ssize(forest.roots));
}

Outs to_tree_regressor(Context& c) {
  constexpr std::pair<std::string_view, Aggregate> kNames[] = {
      {"AVERAGE", Aggregate::average}, {"SUM", Aggregate::sum}, {"MIN", Aggregate::least}, {"MAX", Aggregate::most}};
  const std::string name = c.text("aggregate_function", "SUM");
  const auto* const known =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& one) { return one.first == name; });
  if (known == std::end(kNames)) Context::fail("an aggregate_function of '" + name + "'");
  const std::int64_t targets = c.integer("n_targets");
  check_targets(targets, std::ssize(c.integers("target_ids")));
  const Forest forest = old_forest_of(c, "target", targets, known->second);
  Value scores = old_scores(c, forest, known->second);
  const Floats base = numbers_of(c, "base_values");
  if (!base.empty()) scores = scores + list(c, base, scores.dtype(), {std::ssize(base)});
  return cast(transformed(scores, c.text("post_transform", "NONE")), DType::float32);
}

// ---- TreeEnsembleClassifier ----

/// The labels of the classes. Texts are replaced by the numbers of the classes, if nothing uses the labels.
Ints class_labels(Context& c) {
  const Ints labels = c.integers("classlabels_int64s");
  const Strings texts = c.texts("classlabels_strings");
  if (texts.empty()) return labels;
  if (!labels.empty()) Context::fail("it has both classlabels_int64s and classlabels_strings");
  if (c.is_used(0))
    Context::fail("its labels are texts, which ferry does not compute with; export the model with integer labels");
  Ints numbers(texts.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The results of a classifier: the position of the top class, and the scores of the classes.
struct Classified {
  Value place, scores;
};

/// Two classes with the weights of one class only: the score s is a probability p, and the scores are 1 - p and p; or s
/// becomes a probability by a sigmoid. Throws Error(file) in the cases for which onnxruntime and ONNX's reference
/// implementation give different scores.
Classified classified_by_one_score(Context& c, const Value& s, const std::string& how, const Floats& base) {
  const Ints ids = c.integers("class_ids");
  const Floats weights = numbers_of(c, "class_weights");
  if (ids[0] != 0) Context::fail("all weights are of class 1 of 2; they must be of class 0");
  if (base.size() == 2 && base[0] != base[1])
    Context::fail("its base_values differ, and its weights are of one class of 2");
  const Value score = base.empty() ? s : s + base[0];
  const bool negative = std::any_of(weights.begin(), weights.end(), [](double weight) { return weight < 0; });
  if (how == "NONE" && !negative && base.size() < 2)
    return {cast(squeeze(greater(score, 0.5), {1}), DType::int64), concat({1 - score, score}, 1)};
  if (how == "LOGISTIC" && (negative || base.size() == 2))
    return {cast(squeeze(greater(score, 0), {1}), DType::int64), sigmoid(concat({-score, score}, 1))};
  Context::fail(
      formatted("a post_transform of '{}' for two classes with the weights of one, {}: its meaning is not "
                "defined; give weights of both classes",
                how, as_is(negative ? "some negative" : "none negative")));
}

Classified classified(const Value& sums, const std::string& how) {
  return {argmax(sums, 1), transformed(sums, how)};
}

Outs to_tree_classifier(Context& c) {
  const Ints labels = class_labels(c), ids = c.integers("class_ids");
  const std::int64_t classes = std::ssize(labels);
  check_targets(classes, std::ssize(ids));
  if (classes < 2) Context::fail("it has one class; it must have two or more");
  const Forest forest = old_forest_of(c, "class", classes, Aggregate::sum);
  const Value sums = old_scores(c, forest, Aggregate::sum);
  const Floats base = numbers_of(c, "base_values");
  const std::string how = c.text("post_transform", "NONE");
  const bool one_score =
      classes == 2 && !ids.empty() && std::ranges::all_of(ids, [&](auto id) { return id == ids[0]; });
  if (!base.empty() && !(one_score && base.size() == 1)) check_length(std::ssize(base), classes, "base_values");
  const Classified found = one_score      ? classified_by_one_score(c, slice(sums, 1, 0, 1), how, base)
                           : base.empty() ? classified(sums, how)
                                          : classified(sums + list(c, base, sums.dtype(), {classes}), how);
  return {gather(list(c, labels), found.place), cast(found.scores, DType::float32)};
}

constexpr ConvertOp kTrees[] = {
    {"ai.onnx.ml.TreeEnsemble", 5, to_tree_ensemble},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, to_tree_classifier},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, to_tree_regressor},
};

}  // namespace

std::span<const ConvertOp> tree_converters() {
  return kTrees;
}

}  // namespace ferry::onnx

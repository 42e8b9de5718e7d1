#include "samples/boost/train.hpp"

#include <ferry/base/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace boost_sample {
namespace {

constexpr double kLambda = 1, kLeastWeight = 1;
constexpr float kLeastGain = 1e-6F;

/// Sums of the loss's first and second derivatives, as integers in units of 1 / Scale::unit, since a sum of integers
/// does not depend on the order of its terms.
struct Sum {
  std::int64_t gradient = 0, hessian = 0;

  Sum& operator+=(const Sum& other) {
    gradient += other.gradient;
    hessian += other.hessian;
    return *this;
  }
  Sum operator-(const Sum& other) const { return {gradient - other.gradient, hessian - other.hessian}; }
  bool operator==(const Sum&) const = default;
};

/// The units of Sum: as fine as 63 bits allow for sums over all rows, since a row's derivatives are at most 1.
struct Scale {
  explicit Scale(std::int64_t rows)
      : unit(std::ldexp(1.0, 62 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))))),
        inverse(1 / unit) {}
  [[nodiscard]] Sum of(float gradient, float hessian) const {
    return {std::llrint(gradient * unit), std::llrint(hessian * unit)};
  }
  [[nodiscard]] double real(std::int64_t sum) const { return static_cast<double>(sum) * inverse; }

  double unit, inverse;
};

/// The best split that was found for a node's rows.
struct Split {
  float gain = 0;
  std::int32_t feature = -1;
  std::uint32_t bin = 0;  ///< rows of this bin and lower bins go left; kNoBin: only rows without the feature
  bool missing_left = false;
  Sum left, right;
};

constexpr std::uint32_t kNoBin = 0xffffffffU;

/// A node that may be split further.
struct Open {
  std::int32_t node = 0;
  Sum total;
  std::int64_t begin = 0, end = 0;  ///< range of this task's rows in Trainer::order_
  std::size_t histogram = 0;        ///< the begin of its bins in Trainer::histograms_
};

class Trainer {
 public:
  Trainer(const Rows& rows, const Cuts& cuts, const Settings& settings, const ferry::Cluster& cluster)
      : rows_(rows), cuts_(cuts), settings_(settings), cluster_(cluster), scale_(rows.all) {
    const ferry::LibsvmRows& part = rows.part;
    for (std::size_t e = 0; e < part.values.size(); ++e) bins_.push_back(cuts.bin_of(part.indices[e], part.values[e]));
    order_.resize(part.labels.size());
    kept_.resize(part.labels.size());
    derivatives_.resize(part.labels.size());
  }

  Model train() {
    Model model;
    model.base_score = mean_label();
    margins_.assign(rows_.part.labels.size(), model.base_margin());
    for (int round = 0; round < settings_.rounds; ++round) model.trees.push_back(grow());
    return model;
  }

 private:
  // ---- Sums over the tasks ----

  float mean_label() {
    std::int64_t ones = std::count(rows_.part.labels.begin(), rows_.part.labels.end(), 1.0F);
    cluster_.all_reduce(std::span(&ones, 1));
    if (ones == 0 || ones == rows_.all)
      throw ferry::Error(ferry::Code::file, "all {} rows have one label: nothing to learn", rows_.all);
    return static_cast<float>(static_cast<double>(ones) / static_cast<double>(rows_.all));
  }

  void sum_over_tasks(std::span<Sum> sums) {
    static_assert(sizeof(Sum) == 2 * sizeof(std::int64_t));
    if (cluster_.size() > 1)
      cluster_.all_reduce(std::span(reinterpret_cast<std::int64_t*>(sums.data()), 2 * sums.size()));
  }

  // ---- One tree ----

  Tree grow() {
    derive();
    Tree tree(1);
    std::vector<Open> level{root()};
    for (int depth = 0; !level.empty(); ++depth) level = part(tree, level, depth + 1 < settings_.depth);
    return tree;
  }

  void derive() {
    for (std::size_t row = 0; row < margins_.size(); ++row) {
      const float p = probability(margins_[row]);
      derivatives_[row] = scale_.of(p - rows_.part.labels[row], std::max(p * (1.0F - p), 1e-16F));
    }
  }

  Open root() {
    std::iota(order_.begin(), order_.end(), 0U);
    histograms_.assign(cuts_.bins() + 1, {});
    Open open{.node = 0, .total = {}, .begin = 0, .end = static_cast<std::int64_t>(order_.size()), .histogram = 0};
    for (const Sum& row : derivatives_) histograms_.back() += row;
    fill(open);
    sum_over_tasks(histograms_);
    open.total = histograms_.back();
    return open;
  }

  void fill(const Open& open) {
    Sum* const histogram = histograms_.data() + open.histogram;
    for (std::int64_t i = open.begin; i < open.end; ++i) {
      const std::size_t row = order_[i];
      const Sum derivatives = derivatives_[row];
      const auto end = static_cast<std::size_t>(rows_.part.offsets[row + 1]);
      for (auto e = static_cast<std::size_t>(rows_.part.offsets[row]); e < end; ++e) histogram[bins_[e]] += derivatives;
    }
  }

  /// Splits the nodes of a level, and returns the nodes of the next level that may be split, with their histograms.
  std::vector<Open> part(Tree& tree, const std::vector<Open>& level, bool further) {
    std::vector<Open> next;
    std::vector<std::size_t> parents;  // histograms of the parents of each pair in `next`
    for (const Open& open : level) {
      const Split split = best_split(open);
      if (split.gain <= kLeastGain) {
        make_leaf(tree, open);
        continue;
      }
      const auto [left, right] = divide(tree, open, split);
      if (!further) {
        make_leaf(tree, left);
        make_leaf(tree, right);
        continue;
      }
      next.insert(next.end(), {left, right});
      parents.push_back(open.histogram);
    }
    add_histograms(next, parents);
    return next;
  }

  void make_leaf(Tree& tree, const Open& open) {
    const auto weight =
        static_cast<float>(-scale_.real(open.total.gradient) / (scale_.real(open.total.hessian) + kLambda));
    const float value = weight * settings_.eta;
    tree[open.node].value = value;
    for (std::int64_t i = open.begin; i < open.end; ++i) margins_[order_[i]] += value;
  }

  std::pair<Open, Open> divide(Tree& tree, const Open& open, const Split& split) {
    const auto left = static_cast<std::int32_t>(tree.size());
    const auto feature = static_cast<std::size_t>(split.feature);
    Node& node = tree[open.node];
    node.feature = split.feature;
    node.threshold = split.bin == kNoBin ? cuts_.below[feature] : cuts_.cuts[split.bin];
    node.missing_left = split.missing_left;
    node.left = left;
    node.right = left + 1;
    tree.resize(tree.size() + 2);
    const std::int64_t middle = part_rows(open, split);
    return {{.node = left, .total = split.left, .begin = open.begin, .end = middle},
            {.node = left + 1, .total = split.right, .begin = middle, .end = open.end}};
  }

  /// Moves the rows that go left before the rows that go right, in the same order. Returns where the right ones begin.
  std::int64_t part_rows(const Open& open, const Split& split) {
    const auto feature = static_cast<std::size_t>(split.feature);
    const std::uint32_t begin = cuts_.begins[feature], end = cuts_.begins[feature + 1];
    std::int64_t left = open.begin, right = 0;
    for (std::int64_t i = open.begin; i < open.end; ++i) {
      const std::uint32_t row = order_[i];
      if (goes_left(row, begin, end, split))
        order_[left++] = row;
      else
        kept_[right++] = row;
    }
    std::copy_n(kept_.begin(), right, order_.begin() + left);
    return left;
  }

  [[nodiscard]] bool goes_left(std::uint32_t row, std::uint32_t begin, std::uint32_t end, const Split& split) const {
    const auto first = bins_.begin() + rows_.part.offsets[row], last = bins_.begin() + rows_.part.offsets[row + 1];
    const auto found = std::lower_bound(first, last, begin);
    if (found == last || *found >= end) return split.missing_left;
    return split.bin != kNoBin && *found <= split.bin;
  }

  /// Sums the lighter of two siblings from its rows. The other sibling is the difference to their parent.
  void add_histograms(std::vector<Open>& next, const std::vector<std::size_t>& parents) {
    const std::size_t bins = cuts_.bins(), pairs = parents.size();
    const std::size_t first = histograms_.size();
    histograms_.resize(first + 2 * pairs * bins);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      Open &left = next[2 * pair], &right = next[2 * pair + 1];
      const bool left_is_lighter = left.total.hessian <= right.total.hessian;
      (left_is_lighter ? left : right).histogram = first + pair * bins;
      (left_is_lighter ? right : left).histogram = first + (pairs + pair) * bins;
      fill(left_is_lighter ? left : right);
    }
    sum_over_tasks(std::span(histograms_).subspan(first, pairs * bins));
    for (std::size_t pair = 0; pair < pairs; ++pair)
      for (std::size_t bin = 0; bin < bins; ++bin)
        histograms_[first + (pairs + pair) * bins + bin] =
            histograms_[parents[pair] + bin] - histograms_[first + pair * bins + bin];
  }

  // ---- The best split of a node ----

  [[nodiscard]] float gain(const Sum& sum) const {
    const double gradient = scale_.real(sum.gradient);
    return static_cast<float>(gradient * gradient) / static_cast<float>(scale_.real(sum.hessian) + kLambda);
  }

  [[nodiscard]] Split best_split(const Open& open) const {
    Split best;
    const float before = gain(open.total);
    for (std::int32_t feature = 0; feature < cuts_.features(); ++feature) {
      const auto f = static_cast<std::size_t>(feature);
      const Sum present = try_upwards(open, feature, cuts_.begins[f], cuts_.begins[f + 1], before, best);
      if (!(present == open.total)) try_downwards(open, feature, cuts_.begins[f], cuts_.begins[f + 1], before, best);
    }
    return best;
  }

  /// Tries a split after each bin, with the rows that lack the feature on the right. Returns the sum of all bins.
  Sum try_upwards(const Open& open, std::int32_t feature, std::uint32_t begin, std::uint32_t end, float before,
                  Split& best) const {
    Sum left;
    for (std::uint32_t bin = begin; bin < end; ++bin) {
      left += histograms_[open.histogram + bin];
      consider({0, feature, bin, false, left, open.total - left}, before, best);
    }
    return left;
  }

  /// Tries a split before each bin, with the rows that lack the feature on the left.
  void try_downwards(const Open& open, std::int32_t feature, std::uint32_t begin, std::uint32_t end, float before,
                     Split& best) const {
    Sum right;
    for (std::uint32_t bin = end; bin-- > begin;) {
      right += histograms_[open.histogram + bin];
      consider({0, feature, bin == begin ? kNoBin : bin - 1, true, open.total - right, right}, before, best);
    }
  }

  void consider(Split split, float before, Split& best) const {
    if (scale_.real(split.left.hessian) < kLeastWeight || scale_.real(split.right.hessian) < kLeastWeight) return;
    split.gain = gain(split.left) + gain(split.right) - before;
    if (split.gain > best.gain) best = split;
  }

  const Rows& rows_;
  const Cuts& cuts_;
  const Settings& settings_;
  const ferry::Cluster& cluster_;
  const Scale scale_;
  std::vector<std::uint32_t> bins_;  // of each entry of the part
  std::vector<float> margins_;       // of each row of the part
  std::vector<Sum> derivatives_;     // of each row of the part
  std::vector<std::uint32_t> order_, kept_;
  std::vector<Sum> histograms_;  // of all nodes of the current tree that were open
};

}  // namespace

Model train(const Rows& rows, const Cuts& cuts, const Settings& settings, const ferry::Cluster& cluster) {
  return Trainer(rows, cuts, settings, cluster).train();
}

}  // namespace boost_sample

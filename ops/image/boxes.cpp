#include "ops/image/boxes.hpp"

#include <algorithm>
#include <cmath>

#include "graph/op/op_work.hpp"
#include "ops/build.hpp"

namespace ferry {
namespace {

/// Whether the boxes are [n,4] and the scores [n]. Then there is one image and one class, and n may be bounded.
bool is_one_class(const OpFacts& facts) {
  return facts.shape(0).rank() == 2 && facts.shape(1).rank() == 1;
}

std::string suppressed_index(const OpFacts& facts) {
  return is_one_class(facts) ? "[n][x],[n]->[m][t]" : "[b][n][x],[b][c][n]->[m][t]";
}

std::vector<Shape> suppressed_shape(const OpFacts& facts) {
  const Shape &boxes = facts.shape(0), &scores = facts.shape(1);
  const auto most = facts.attr<std::int64_t>("most");
  if (most < 0) OpFacts::fail("at most " + std::to_string(most) + " boxes");
  if (is_one_class(facts)) {
    if (boxes[1].known() && boxes[1] != Dim(4)) OpFacts::fail("boxes are [n,4], not " + boxes.str());
    return {Shape{scores.known() ? Dim::at_most(std::min(most, scores[0].size())) : Dim::unknown(), 3}};
  }
  if (boxes.rank() != 3 || scores.rank() != 3 || (boxes[2].known() && boxes[2] != Dim(4)))
    OpFacts::fail("boxes are [batch,n,4] and scores [batch,classes,n], or [n,4] and [n], not " + boxes.str() + " and " +
                  scores.str());
  if (boxes.bounded() || scores.bounded()) OpFacts::fail("the number of images is bounded");
  if (!scores.known()) return {Shape{Dim::unknown(), 3}};
  const std::int64_t each = std::min(most, scores[2].size());
  return {Shape{Dim::at_most(checked_count(Ints{scores[0].size(), scores[1].size(), each})), 3}};
}

/// For each image and class: the flops of a sort of the boxes by score, and of the overlaps of each box with half of
/// the kept boxes.
double suppressed_flops(const OpFacts& facts, std::span<const Type>) {
  constexpr double kCompareFlops = 4, kOverlapFlops = 15;
  const Shape& scores = facts.shape(1);
  const Dim& last = scores[scores.rank() - 1];
  const double n = last.known() ? static_cast<double>(last.size()) : 1;
  const double kept = std::min(n, static_cast<double>(facts.attr<std::int64_t>("most")));
  const double of_each = kCompareFlops * std::log2(std::max(n, 2.0)) + kOverlapFlops * kept / 2;
  return known_count(scores) * of_each;
}

constexpr AttrDef kAttrs[] = {{"centres", "bool"}, {"most", "int"}, {"overlap", "float"}, {"score", "float"}};

constexpr OpDef kNonMaxSuppression{.name = "NonMaxSuppression",
                                   .types = "T,T->int64",
                                   .T = kFloats,
                                   .attrs = kAttrs,
                                   .index_of = suppressed_index,
                                   .infer = suppressed_shape,
                                   .flops_of = suppressed_flops,
                                   .no_grad = "its result is an index"};

constexpr const OpDef* kBoxOps[] = {&kNonMaxSuppression};

}  // namespace

Value non_max_suppression(const Value& boxes, const Value& scores, std::int64_t most, double overlap, double score,
                          bool centres, source_location at) {
  return make_one(kNonMaxSuppression, {boxes, scores}, at,
                  {{"centres", centres}, {"most", most}, {"overlap", overlap}, {"score", score}});
}

std::span<const OpDef* const> box_ops() {
  return kBoxOps;
}

}  // namespace ferry

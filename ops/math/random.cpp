#include "ops/math/random.hpp"

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"

namespace ferry {
namespace {

void check_float(DType dtype) {
  if (!is_float(dtype)) OpFacts::fail("of " + std::string(name_of(dtype)) + "; it gives " + kFloats.str());
}

std::vector<Shape> drawn_shape(const OpFacts& facts) {
  const Shape& shape = facts.attr<Shape>("shape");
  check_float(facts.attr<DType>("dtype"));
  if (!shape.fixed()) OpFacts::fail("the sizes of " + shape.str() + " are not all known");
  return {shape};
}

std::vector<Shape> shape_of_input(const OpFacts& facts) {
  check_float(facts.attr<DType>("dtype"));
  if (facts.shape(0).bounded()) OpFacts::fail("it does not draw for " + facts.shape(0).str() + ", which is bounded");
  return {facts.shape(0)};
}

std::string drawn_index(const OpFacts& facts) {
  return "->" + term(Letters().next(facts.attr<Shape>("shape").rank()));
}

std::string shuffle_index(const OpFacts& facts) {
  const Shape& shape = facts.shape(0);
  if (shape.rank() == 0) OpFacts::fail("a scalar has no rows");
  Letters letters;
  const std::string rows = whole(letters.next());
  const std::string text = rows + letters.next(shape.rank() - 1);
  return text + "->" + text;
}

constexpr AttrDef kUniformAttrs[] = {{"dtype", "dtype"}, {"high", "float"}, {"key", "string", false},
                                     {"low", "float"},   {"seed", "int"},   {"shape", "shape"}};
constexpr AttrDef kUniformLikeAttrs[] = {
    {"dtype", "dtype"}, {"high", "float"}, {"key", "string", false}, {"low", "float"}, {"seed", "int"}};
constexpr AttrDef kNormalAttrs[] = {{"dtype", "dtype"}, {"key", "string", false}, {"mean", "float"},
                                    {"seed", "int"},    {"shape", "shape"},       {"stddev", "float"}};
constexpr AttrDef kShuffleAttrs[] = {{"key", "string", false}, {"seed", "int"}};

/// The work of one element, in flops. One core of a Xeon takes 3.5 ns (uniform) and 12.5 ns (normal) for an element,
/// and 37 ps for a flop of elementwise ops (bench/NOTEBOOK.md).
constexpr double kUniformFlops = 100, kNormalFlops = 340;

constexpr OpDef kUniform{.name = "RandomUniform",
                         .types = "->@dtype",
                         .attrs = kUniformAttrs,
                         .index_of = drawn_index,
                         .infer = drawn_shape,
                         .flops = kUniformFlops,
                         .flags = kRandom,
                         .no_grad = "it has no inputs"};

constexpr OpDef kUniformLike{.name = "RandomUniformLike",
                             .types = "U->@dtype",
                             .U = kAnyType,
                             .attrs = kUniformLikeAttrs,
                             .index = "...->...",
                             .unread = 0b1,
                             .infer = shape_of_input,
                             .flops = kUniformFlops,
                             .flags = kRandom,
                             .grad = [](GradCtx&) { return Values{Value()}; }};

constexpr OpDef kNormal{.name = "RandomNormal",
                        .types = "->@dtype",
                        .attrs = kNormalAttrs,
                        .index_of = drawn_index,
                        .infer = drawn_shape,
                        .flops = kNormalFlops,
                        .flags = kRandom,
                        .no_grad = "it has no inputs"};

constexpr OpDef kShuffle{.name = "Shuffle",
                         .types = "T->T",
                         .T = kAnyType,
                         .attrs = kShuffleAttrs,
                         .index_of = shuffle_index,
                         .flops = 0,
                         .flags = kRandom,
                         .no_grad = "the order of rows is drawn again each time"};

constexpr const OpDef* kRandomOps[] = {&kUniform, &kUniformLike, &kNormal, &kShuffle};

}  // namespace

Value uniform(Graph& graph, const Shape& shape, double low, double high, DType dtype, std::int64_t seed,
              source_location at) {
  return graph.add(kUniform, {}, {{"dtype", dtype}, {"high", high}, {"low", low}, {"seed", seed}, {"shape", shape}},
                   at)[0];
}

Value uniform_like(const Value& x, double low, double high, DType dtype, std::int64_t seed, source_location at) {
  return make_one(kUniformLike, {x}, at, {{"dtype", dtype}, {"high", high}, {"low", low}, {"seed", seed}});
}

Value normal(Graph& graph, const Shape& shape, double mean, double stddev, DType dtype, std::int64_t seed,
             source_location at) {
  return graph.add(kNormal, {},
                   {{"dtype", dtype}, {"mean", mean}, {"seed", seed}, {"shape", shape}, {"stddev", stddev}}, at)[0];
}

Value shuffle(const Value& x, std::int64_t seed, source_location at) {
  return make_one(kShuffle, {x}, at, {{"seed", seed}});
}

std::span<const OpDef* const> random_ops() {
  return kRandomOps;
}

}  // namespace ferry

#include "ops/conv.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/gradient.hpp"

namespace ferry {
namespace {

// ---- Shapes ----

/// Positions of a window along one dim. `side`: 0 for rows, 1 for columns.
Dim positions(const OpFacts& facts, const Dim& image, const Dim& window, std::size_t side) {
  if (!image.known() || !window.known()) return Dim::unknown();
  const Ints& padding = facts.attr<Ints>("padding");
  const std::int64_t dilation = facts.attrs().has("dilations") ? facts.attr<Ints>("dilations")[side] : 1;
  const std::int64_t covered = (window.size() - 1) * dilation + 1;
  const std::int64_t padded = image.size() + padding[side] + padding[side + 2];
  const std::string which = side == 0 ? "rows" : "columns";
  if (window.size() < 1) OpFacts::fail("the window has no " + which);
  if (covered > padded)
    OpFacts::fail("a window that covers " + std::to_string(covered) + " " + which + " is larger than the image of " +
                  std::to_string(padded) + " with its padding");
  return Dim((padded - covered) / facts.attr<Ints>("strides")[side] + 1);
}

void check_sliding(const OpFacts& facts) {
  const auto check = [&](std::string_view name, std::size_t count, std::int64_t least) {
    const Ints& given = facts.attr<Ints>(name);
    if (given.size() == count && *std::min_element(given.begin(), given.end()) >= least) return;
    OpFacts::fail(std::string(name) + " must be " + std::to_string(count) + " numbers of at least " +
                  std::to_string(least));
  };
  check("strides", 2, 1);
  check("padding", 4, 0);
  if (facts.attrs().has("dilations")) check("dilations", 2, 1);
  if (facts.attrs().has("size")) check("size", 2, 1);
}

void check_rank(const OpFacts& facts, int input, std::string_view what) {
  if (facts.shape(input).rank() == 4) return;
  OpFacts::fail(std::string(what) + " must have 4 dims, not " + facts.shape(input).str());
}

std::int64_t groups_of(const OpFacts& facts) {
  return facts.attr<std::int64_t>("groups");
}

void check_channels(const OpFacts& facts, const Dim& channels, const Shape& filter) {
  const std::int64_t groups = groups_of(facts);
  if (groups < 1) OpFacts::fail("groups must be at least 1");
  if (channels.known() && filter[1].known() && channels.size() != filter[1].size() * groups)
    OpFacts::fail("the image has " + channels.str() + " channels, the filter " + filter[1].str() + " in each of " +
                  std::to_string(groups) + " groups");
  if (filter[0].known() && filter[0].size() % groups != 0)
    OpFacts::fail(filter[0].str() + " output channels cannot be cut into " + std::to_string(groups) + " groups");
}

std::vector<Shape> conv_shape(const OpFacts& facts) {
  check_rank(facts, 0, "the image");
  check_rank(facts, 1, "the filter");
  check_sliding(facts);
  const Shape &x = facts.shape(0), &w = facts.shape(1);
  check_channels(facts, x[1], w);
  return {Shape({x[0], w[0], positions(facts, x[2], w[2], 0), positions(facts, x[3], w[3], 1)})};
}

/// The gradients: dy must have the shape of the convolution's output.
void check_output(const OpFacts& facts, const Shape& x, const Shape& w) {
  check_sliding(facts);
  check_channels(facts, x[1], w);
  const Shape wanted({x[0], w[0], positions(facts, x[2], w[2], 0), positions(facts, x[3], w[3], 1)});
  const Shape& dy = facts.shape(0);
  for (int d = 0; d < 4; ++d)
    if (dy[d].known() && wanted[d].known() && dy[d].size() != wanted[d].size())
      OpFacts::fail("the output is " + wanted.str() + ", its gradient " + dy.str());
}

std::vector<Shape> grad_input_shape(const OpFacts& facts) {
  for (int i = 0; i < 3; ++i) check_rank(facts, i, "an input");
  check_output(facts, facts.shape(2), facts.shape(1));
  return {facts.shape(2)};
}

std::vector<Shape> grad_filter_shape(const OpFacts& facts) {
  for (int i = 0; i < 3; ++i) check_rank(facts, i, "an input");
  check_output(facts, facts.shape(1), facts.shape(2));
  return {facts.shape(2)};
}

Shape pooled(const OpFacts& facts, int image) {
  check_rank(facts, image, "the image");
  check_sliding(facts);
  const Ints &size = facts.attr<Ints>("size"), &padding = facts.attr<Ints>("padding");
  for (std::size_t side = 0; side < 4; ++side)
    if (padding[side] >= size[side % 2]) OpFacts::fail("a window could lie in the padding alone");
  const Shape& x = facts.shape(image);
  return Shape({x[0], x[1], positions(facts, x[2], Dim(size[0]), 0), positions(facts, x[3], Dim(size[1]), 1)});
}

std::vector<Shape> pool_shape(const OpFacts& facts) {
  return {pooled(facts, 0)};
}

std::vector<Shape> pick_shape(const OpFacts& facts) {
  return {pooled(facts, 1)};
}

std::vector<Shape> pool_grad_shape(const OpFacts& facts) {
  check_rank(facts, 0, "the gradient");
  const Shape wanted = pooled(facts, 1);
  const Shape& dy = facts.shape(0);
  for (int d = 0; d < 4; ++d)
    if (dy[d].known() && wanted[d].known() && dy[d].size() != wanted[d].size())
      OpFacts::fail("the output is " + wanted.str() + ", its gradient " + dy.str());
  return {facts.shape(1)};
}

// ---- Notation: channels of several groups belong together ----

/// Of the image, the filter and the output.
struct ConvTerms {
  std::string image, filter, output;
};

ConvTerms terms(const OpFacts& facts) {
  if (groups_of(facts) == 1) return {"nc[x][y]", "oc[u][v]", "no[p][q]"};
  return {"n[c][x][y]", "[o][i][u][v]", "n[o][p][q]"};
}

std::string conv_index(const OpFacts& facts) {
  const ConvTerms t = terms(facts);
  return t.image + "," + t.filter + "->" + t.output;
}
std::string grad_input_index(const OpFacts& facts) {
  const ConvTerms t = terms(facts);
  return t.output + "," + t.filter + "," + t.image + "->" + t.image;
}
std::string grad_filter_index(const OpFacts& facts) {
  const ConvTerms t = terms(facts);
  return t.output + "," + t.image + "," + t.filter + "->" + t.filter;
}

// ---- Gradients: the convolution is linear in each factor, and the three ops are one another's adjoints ----

Value conv(const Value& x, const Value& w, GradCtx& g);
Value grad_input(const Value& dy, const Value& w, const Value& like, GradCtx& g);
Value grad_filter(const Value& dy, const Value& x, const Value& like, GradCtx& g);
Value pool(const OpDef& def, std::initializer_list<Value> inputs, GradCtx& g);

Values conv_grad(GradCtx& g) {
  return {g.want(0, [&] { return grad_input(g.dout(), g.in(1), g.in(0), g); }),
          g.want(1, [&] { return grad_filter(g.dout(), g.in(0), g.in(1), g); })};
}

Values grad_input_grad(GradCtx& g) {
  return {g.want(0, [&] { return conv(g.dout(), g.in(1), g); }),
          g.want(1, [&] { return grad_filter(g.in(0), g.dout(), g.in(1), g); }), Value()};
}

Values grad_filter_grad(GradCtx& g) {
  return {g.want(0, [&] { return conv(g.in(1), g.dout(), g); }),
          g.want(1, [&] { return grad_input(g.in(0), g.dout(), g.in(1), g); }), Value()};
}

Values max_pool_grad(GradCtx& g);
Values max_pool_grad_grad(GradCtx& g);
Values avg_pool_grad(GradCtx& g);
Values avg_pool_grad_grad(GradCtx& g);

constexpr AttrDef kConvAttrs[] = {{"dilations", "ints"}, {"groups", "int"}, {"padding", "ints"}, {"strides", "ints"}};
constexpr AttrDef kPoolAttrs[] = {{"padding", "ints"}, {"size", "ints"}, {"strides", "ints"}};
constexpr double kPoolFlops = 4;  // a window of 2 x 2

constexpr OpDef kConv2D{.name = "Conv2D",
                        .types = "T,T->T",
                        .T = kFloats,
                        .attrs = kConvAttrs,
                        .index_of = conv_index,
                        .reduce = Reduce::sum,
                        .linear = 0b01,
                        .infer = conv_shape,
                        .flops = 2,
                        .grad = conv_grad};

constexpr OpDef kConv2DGradInput{.name = "Conv2DGradInput",
                                 .types = "T,T,T->T",
                                 .T = kFloats,
                                 .attrs = kConvAttrs,
                                 .index_of = grad_input_index,
                                 .reduce = Reduce::sum,
                                 .linear = 0b01,
                                 .unread = 0b100,
                                 .infer = grad_input_shape,
                                 .flops = 2,
                                 .grad = grad_input_grad};

constexpr OpDef kConv2DGradFilter{.name = "Conv2DGradFilter",
                                  .types = "T,T,T->T",
                                  .T = kFloats,
                                  .attrs = kConvAttrs,
                                  .index_of = grad_filter_index,
                                  .reduce = Reduce::sum,
                                  .linear = 0b01,
                                  .unread = 0b100,
                                  .infer = grad_filter_shape,
                                  .flops = 2,
                                  .grad = grad_filter_grad};

constexpr OpDef kMaxPool2D{.name = "MaxPool2D",
                           .types = "T->T",
                           .T = kFloats,
                           .attrs = kPoolAttrs,
                           .index = "nc[x][y]->nc[p][q]",
                           .infer = pool_shape,
                           .flops = kPoolFlops,
                           .grad = max_pool_grad};

constexpr OpDef kMaxPool2DGrad{.name = "MaxPool2DGrad",
                               .types = "T,T->T",
                               .T = kFloats,
                               .attrs = kPoolAttrs,
                               .index = "nc[p][q],nc[x][y]->nc[x][y]",
                               .linear = 0b01,
                               .infer = pool_grad_shape,
                               .flops = kPoolFlops,
                               .grad = max_pool_grad_grad};

constexpr OpDef kMaxPool2DPick{.name = "MaxPool2DPick",
                               .types = "T,T->T",
                               .T = kFloats,
                               .attrs = kPoolAttrs,
                               .index = "nc[x][y],nc[x][y]->nc[p][q]",
                               .linear = 0b01,
                               .infer = pick_shape,
                               .flops = kPoolFlops,
                               .grad = [](GradCtx& g) {
                                 return Values{pool(kMaxPool2DGrad, {g.dout(), g.in(1)}, g), Value()};
                               }};

constexpr OpDef kAvgPool2D{.name = "AvgPool2D",
                           .types = "T->T",
                           .T = kFloats,
                           .attrs = kPoolAttrs,
                           .index = "nc[x][y]->nc[p][q]",
                           .linear = 0b1,
                           .infer = pool_shape,
                           .flops = kPoolFlops,
                           .grad = avg_pool_grad};

constexpr OpDef kAvgPool2DGrad{.name = "AvgPool2DGrad",
                               .types = "T,T->T",
                               .T = kFloats,
                               .attrs = kPoolAttrs,
                               .index = "nc[p][q],nc[x][y]->nc[x][y]",
                               .linear = 0b01,
                               .unread = 0b10,
                               .infer = pool_grad_shape,
                               .flops = kPoolFlops,
                               .grad = avg_pool_grad_grad};

Value conv(const Value& x, const Value& w, GradCtx& g) {
  return make_one(kConv2D, {x, w}, g.line(), g.attrs());
}
Value grad_input(const Value& dy, const Value& w, const Value& like, GradCtx& g) {
  return make_one(kConv2DGradInput, {dy, w, like}, g.line(), g.attrs());
}
Value grad_filter(const Value& dy, const Value& x, const Value& like, GradCtx& g) {
  return make_one(kConv2DGradFilter, {dy, x, like}, g.line(), g.attrs());
}
Value pool(const OpDef& def, std::initializer_list<Value> inputs, GradCtx& g) {
  return make_one(def, inputs, g.line(), g.attrs());
}

Values max_pool_grad(GradCtx& g) {
  return {pool(kMaxPool2DGrad, {g.dout(), g.in()}, g)};
}
Values max_pool_grad_grad(GradCtx& g) {
  return {pool(kMaxPool2DPick, {g.dout(), g.in(1)}, g), Value()};
}
Values avg_pool_grad(GradCtx& g) {
  return {pool(kAvgPool2DGrad, {g.dout(), g.in()}, g)};
}
Values avg_pool_grad_grad(GradCtx& g) {
  return {pool(kAvgPool2D, {g.dout()}, g), Value()};
}

constexpr const OpDef* kConvOps[] = {&kConv2D,        &kConv2DGradInput, &kConv2DGradFilter, &kMaxPool2D,
                                     &kMaxPool2DGrad, &kMaxPool2DPick,   &kAvgPool2D,        &kAvgPool2DGrad};

Attrs sliding_attrs(const Sliding& sliding) {
  Ints padding = sliding.padding;
  if (padding.size() == 2) padding.insert(padding.end(), sliding.padding.begin(), sliding.padding.end());
  return {{"padding", std::move(padding)}, {"strides", sliding.strides}};
}

Value pooling(const OpDef& def, const Value& x, Ints size, const Sliding& sliding, source_location at) {
  if (sliding.dilations != Ints{1, 1})
    throw Error(Code::plan, std::string(def.name) + ": of " + x.name() + " with dilations, which pooling has not")
        .at(at);
  Attrs attrs = sliding_attrs(sliding);
  attrs.set("size", std::move(size));
  return make_one(def, {x}, at, std::move(attrs));
}

}  // namespace

Value conv2d(const Value& x, const Value& w, const Sliding& sliding, std::int64_t groups, source_location at) {
  Attrs attrs = sliding_attrs(sliding);
  attrs.set("dilations", sliding.dilations);
  attrs.set("groups", groups);
  return make_one(kConv2D, {x, w}, at, std::move(attrs));
}

Value max_pool2d(const Value& x, Ints size, const Sliding& sliding, source_location at) {
  return pooling(kMaxPool2D, x, std::move(size), sliding, at);
}

Value avg_pool2d(const Value& x, Ints size, const Sliding& sliding, source_location at) {
  return pooling(kAvgPool2D, x, std::move(size), sliding, at);
}

std::span<const OpDef* const> conv_ops() {
  return kConvOps;
}

}  // namespace ferry

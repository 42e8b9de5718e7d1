#include "ops/image/augment.hpp"

#include "ops/build.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kMostPadding = 1 << 30;

/// The dim of the height; the next dim is the width.
int height_of(const OpFacts& facts) {
  const int axis = facts.axis(0, facts.attr<std::int64_t>("axis"));
  if (axis == 0) OpFacts::fail("axis 0 counts the images");
  if (axis + 1 == facts.shape(0).rank())
    OpFacts::fail("axis " + std::to_string(axis) + " of " + facts.shape(0).str() + " is the last: there is no width");
  return axis;
}

std::string image_index(const OpFacts& facts) {
  const int height = height_of(facts);
  Letters letters;
  std::string text;
  for (int d = 0; d < facts.shape(0).rank(); ++d)
    text += d == height || d == height + 1 ? whole(letters.next()) : letters.next();
  return text + "->" + text;
}

std::vector<Shape> flip_shape(const OpFacts& facts) {
  static_cast<void>(height_of(facts));
  return {facts.shape(0)};
}

std::vector<Shape> crop_shape(const OpFacts& facts) {
  const auto padding = facts.attr<std::int64_t>("padding");
  if (padding < 0 || padding > kMostPadding) OpFacts::fail("a padding of " + std::to_string(padding));
  return flip_shape(facts);
}

constexpr AttrDef kFlipAttrs[] = {{"axis", "int"}, {"key", "string", false}, {"seed", "int"}};
constexpr AttrDef kCropAttrs[] = {{"axis", "int"}, {"key", "string", false}, {"padding", "int"}, {"seed", "int"}};
constexpr std::string_view kData = "it changes data";

constexpr OpDef kRandomFlip{.name = "RandomFlip",
                            .types = "T->T",
                            .T = kAnyType,
                            .attrs = kFlipAttrs,
                            .index_of = image_index,
                            .infer = flip_shape,
                            .flops = 0,
                            .flags = kRandom | kOnHost,
                            .no_grad = kData};

constexpr OpDef kRandomCrop{.name = "RandomCrop",
                            .types = "T->T",
                            .T = kAnyType,
                            .attrs = kCropAttrs,
                            .index_of = image_index,
                            .infer = crop_shape,
                            .flops = 0,
                            .flags = kRandom | kOnHost,
                            .no_grad = kData};

constexpr const OpDef* kAugmentOps[] = {&kRandomFlip, &kRandomCrop};

}  // namespace

Value random_flip(const Value& images, std::int64_t axis, std::int64_t seed, source_location at) {
  return make_one(kRandomFlip, {images}, at, {{"axis", axis}, {"seed", seed}});
}

Value random_crop(const Value& images, std::int64_t padding, std::int64_t axis, std::int64_t seed, source_location at) {
  return make_one(kRandomCrop, {images}, at, {{"axis", axis}, {"padding", padding}, {"seed", seed}});
}

std::span<const OpDef* const> augment_ops() {
  return kAugmentOps;
}

}  // namespace ferry

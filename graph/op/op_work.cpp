#include "graph/op/op_work.hpp"

#include <algorithm>
#include <optional>

#include "graph/op/index_notation.hpp"

namespace ferry {
namespace {

/// Whether a kernel computes the op. Views, ops with bodies, and ops with values that exist already have no kernel. An
/// assigned value is computed directly in the variable's memory.
bool has_kernel(const OpDef& def) {
  if (def.is(kView) || def.is(kControlFlow)) return false;
  return def.role != OpRole::constant && def.role != OpRole::input && def.role != OpRole::variable &&
         def.role != OpRole::assign && def.role != OpRole::parameter;
}

bool is_read(const OpDef& def, std::size_t input) {
  return input >= 32 || (def.unread >> input & 1U) == 0;
}

/// The facts of an op on parts of its values.
class PartFacts final : public OpFacts {
 public:
  PartFacts(const OpFacts& whole, const std::vector<Type>& inputs) : whole_(whole), inputs_(inputs) {}
  [[nodiscard]] int inputs() const override { return static_cast<int>(inputs_.size()); }
  [[nodiscard]] const Type& input(int i) const override { return inputs_[i]; }
  [[nodiscard]] const Attrs& attrs() const override { return whole_.attrs(); }
  [[nodiscard]] const Tensor* constant(int i) const override { return whole_.constant(i); }
  [[nodiscard]] std::vector<Type> results(std::string_view name) const override { return whole_.results(name); }

 private:
  const OpFacts& whole_;
  const std::vector<Type>& inputs_;
};

double read_and_written(const OpDef& def, const OpFacts& facts, std::span<const Type> outputs) {
  double bytes = bytes_of_outputs(outputs);
  for (int i = 0; i < facts.inputs(); ++i)
    if (is_read(def, static_cast<std::size_t>(i))) bytes += static_cast<double>(known_bytes(facts.input(i)));
  return bytes;
}

/// The share of the points of the index space that a task with these parts computes.
double share_of(const IndexSpace& space, const OpDef& def, const OpFacts& facts, std::span<const Type> outputs,
                const OpParts& parts) {
  std::vector<double> shares(space.sizes.size(), 1);
  const auto limit_shares = [&](const Shape& whole, const Shape& part, const std::vector<int>& letters) {
    for (int d = 0; d < whole.rank() && d < part.rank(); ++d)
      if (whole[d].known() && part[d].known() && part[d].size() < whole[d].size()) {
        double& share = shares[letters[d]];
        share = std::min(share, static_cast<double>(part[d].size()) / static_cast<double>(whole[d].size()));
      }
  };
  for (std::size_t i = 0; i < parts.inputs.size(); ++i)
    if (is_read(def, i)) limit_shares(facts.shape(static_cast<int>(i)), parts.inputs[i].shape, space.inputs[i]);
  for (std::size_t o = 0; o < parts.outputs.size(); ++o)
    limit_shares(outputs[o].shape, parts.outputs[o].shape, space.outputs[o]);
  double share = 1;
  for (std::size_t letter = 0; letter < shares.size(); ++letter)
    if (!space.implied[letter]) share *= shares[letter];
  return share;
}

/// The work of a task. It comes from the functions of the OpDef for these parts, or else from points(index space) for
/// the whole values.
template <class Points>
OpWork work_by(const OpDef& def, const OpFacts& facts, std::span<const Type> outputs, const Points& points,
               const OpFacts& part, std::span<const Type> part_outputs) {
  if (!has_kernel(def)) return {};
  const auto flops = [&]() -> double {
    if (def.flops_of != nullptr) return def.flops_of(part, part_outputs);
    if (def.flops == 0) return 0;
    if (const auto space = index_space(def, facts, outputs)) return def.flops * points(*space);
    double elements = 0;
    for (const Type& output : part_outputs) elements += known_count(output.shape);
    return def.flops * elements;
  };
  return {flops(),
          def.bytes_of != nullptr ? def.bytes_of(part, part_outputs) : read_and_written(def, part, part_outputs),
          kind_of_work(def)};
}

bool sums_products(const OpDef& def) {
  return def.reduce == Reduce::sum && def.flops == 2;
}

}  // namespace

double known_count(const Shape& shape) {
  double count = 1;
  for (const Dim& dim : shape.dims())
    if (dim.known()) count *= static_cast<double>(dim.size());
  return count;
}

std::int64_t known_bytes(const Type& type) {
  auto bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (const Dim& dim : type.shape.dims())
    if (dim.known()) bytes *= dim.size();
  return bytes;
}

double bytes_of_outputs(std::span<const Type> outputs) {
  double bytes = 0;
  for (const Type& output : outputs) bytes += static_cast<double>(known_bytes(output));
  return bytes;
}

double moved_bytes(const OpFacts&, std::span<const Type> outputs) {
  return 2 * bytes_of_outputs(outputs);
}

double gathered_bytes(const OpFacts& facts, std::span<const Type> outputs) {
  return moved_bytes(facts, outputs) + static_cast<double>(known_bytes(facts.input(1)));
}

OpWork OpDef::work(const OpFacts& facts, std::span<const Type> outputs) const {
  return work_by(
      *this, facts, outputs, [&](const IndexSpace& space) { return space.points(); }, facts, outputs);
}

OpWork work_of_parts(const OpDef& def, const OpFacts& facts, std::span<const Type> outputs, const OpParts& parts) {
  const auto points = [&](const IndexSpace& space) {
    return space.points() * share_of(space, def, facts, outputs, parts);
  };
  return work_by(def, facts, outputs, points, PartFacts(facts, parts.inputs), parts.outputs);
}

bool is_elementwise(const OpDef& def) {
  return !def.index.empty() && def.index.find_first_not_of(".,->") == std::string_view::npos &&
         def.index.find("...") != std::string_view::npos && def.flops != 0;
}

WorkKind kind_of_work(const OpDef& def) {
  if (def.reduce == Reduce::none || is_elementwise(def)) return WorkKind::element;
  if (!sums_products(def)) return WorkKind::reduction;
  return def.slides != nullptr ? WorkKind::convolution : WorkKind::product;
}

std::string_view name_of(WorkKind kind) {
  static constexpr std::string_view kNames[] = {"element", "product", "convolution", "reduction"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool may_fuse(const OpDef& maker, const OpDef& user) {
  return is_elementwise(user) && (is_elementwise(maker) || sums_products(maker));
}

}  // namespace ferry

#include "graph/op/infer.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "graph/op/index_notation.hpp"

namespace ferry {
namespace {

/// Binds the dtype signature OpDef::types ("T,T->T", "T...->T", "->@dtype") to the dtypes of the inputs.
class TypeSignature {
 public:
  /// Checks the dtypes of the inputs.
  TypeSignature(const OpDef& def, const OpFacts& facts) : def_(def), facts_(facts) {
    const std::size_t arrow = def_.types.find("->");
    FERRY_ASSERT(arrow != std::string_view::npos, "op " + std::string(def_.name) + " has no dtype signature");
    match_inputs(items(def_.types.substr(0, arrow)));
    outputs_ = def_.types.substr(arrow + 2);
  }

  /// The dtypes of the `count` outputs.
  std::vector<DType> outputs(std::size_t count) const {
    std::vector<DType> result;
    for (std::string_view item : items(outputs_)) {
      if (item.ends_with("..."))
        repeat(item.substr(0, item.size() - 3), count, result);
      else
        result.push_back(resolve(item));
    }
    return result;
  }

 private:
  static std::vector<std::string_view> items(std::string_view list) {
    std::vector<std::string_view> result;
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      result.push_back(list.substr(0, comma));
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return result;
  }

  void match_inputs(std::vector<std::string_view> wanted) {
    if (!wanted.empty() && wanted.back().ends_with("...")) {
      const std::string_view repeated = wanted.back().substr(0, wanted.back().size() - 3);
      wanted.pop_back();
      while (static_cast<int>(wanted.size()) < facts_.inputs()) wanted.push_back(repeated);
    }
    if (static_cast<int>(wanted.size()) != facts_.inputs())
      OpFacts::fail("takes " + std::to_string(wanted.size()) + " inputs, " + std::to_string(facts_.inputs()) +
                    " are given");
    for (int i = 0; i < facts_.inputs(); ++i) match(i, wanted[i]);
  }

  void match(int i, std::string_view item) {
    const DType given = facts_.input(i).dtype;
    if (item == "*") return;
    if (item != "T" && item != "U") {
      if (dtype_named(item) != given)
        OpFacts::fail("input " + std::to_string(i) + " must be " + std::string(item) + ", not " +
                      std::string(name_of(given)));
      return;
    }
    std::optional<DType>& bound = item == "T" ? t_ : u_;
    const DTypeSet& allowed = item == "T" ? def_.T : def_.U;
    if (bound && *bound != given)
      OpFacts::fail("dtypes differ: " + std::string(name_of(*bound)) + " and " + std::string(name_of(given)) +
                    " (use cast)");
    if (!allowed.has(given))
      OpFacts::fail("input " + std::to_string(i) + " is " + std::string(name_of(given)) + "; it takes " +
                    allowed.str());
    bound = given;
  }

  void repeat(std::string_view item, std::size_t count, std::vector<DType>& result) const {
    std::vector<Type> body;
    if (item.starts_with("%")) body = facts_.results(item.substr(1));
    while (result.size() < count) {
      const std::size_t i = result.size();
      result.push_back(item == "*"             ? facts_.input(static_cast<int>(i)).dtype
                       : item.starts_with("%") ? body[i].dtype
                                               : resolve(item));
    }
  }

  DType resolve(std::string_view item) const {
    if (item == "T" || item == "U") {
      const std::optional<DType>& bound = item == "T" ? t_ : u_;
      if (!bound) OpFacts::fail("takes at least one input");
      return *bound;
    }
    if (item.starts_with("@")) {
      const AttrValue* value = facts_.attrs().find(item.substr(1));
      if (const auto* tensor = std::get_if<Tensor>(value)) return tensor->dtype();
      return std::get<DType>(*value);
    }
    return dtype_named(item);
  }

  const OpDef& def_;
  const OpFacts& facts_;
  std::string_view outputs_;
  std::optional<DType> t_, u_;
};

void check_attrs(const OpDef& def, const Attrs& attrs) {
  std::vector<std::string> known;
  for (const AttrDef& wanted : def.attrs) {
    known.emplace_back(wanted.name);
    const AttrValue* value = attrs.find(wanted.name);
    if (value == nullptr) {
      if (wanted.required) OpFacts::fail("attribute '" + std::string(wanted.name) + "' is missing");
    } else if (kind_name(*value) != wanted.kind) {
      OpFacts::fail("attribute '" + std::string(wanted.name) + "' must be of type " + std::string(wanted.kind) +
                    ", not " + std::string(kind_name(*value)));
    }
  }
  for (const auto& [name, value] : attrs)
    if (std::find(known.begin(), known.end(), name) == known.end())
      OpFacts::fail(
          formatted("unknown attribute '{}'{}", name, as_is(known.empty() ? "" : "; it has " + join(known, ", "))));
}

std::vector<Shape> shapes_from_index(const OpDef& def, const OpFacts& facts) {
  const IndexSpace space = bind_index(notation_of(def, facts), facts);
  std::vector<Shape> shapes;
  for (const auto& letters : space.outputs) {
    Shape shape;
    for (int letter : letters) shape.push_back(space.sizes[letter]);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// Forwards to other facts, and notes whether a caller used anything except the types of the inputs. Attributes do not
/// count, because the cache is only for ops without attributes.
class WatchedFacts final : public OpFacts {
 public:
  explicit WatchedFacts(const OpFacts& facts) : facts_(facts) {}
  [[nodiscard]] int inputs() const override { return facts_.inputs(); }
  [[nodiscard]] const Type& input(int i) const override { return facts_.input(i); }
  [[nodiscard]] const Attrs& attrs() const override { return facts_.attrs(); }
  [[nodiscard]] const Tensor* constant(int i) const override {
    types_alone_ = false;
    return facts_.constant(i);
  }
  [[nodiscard]] std::vector<Type> results(std::string_view name) const override {
    types_alone_ = false;
    return facts_.results(name);
  }
  [[nodiscard]] bool types_alone() const { return types_alone_; }

 private:
  const OpFacts& facts_;
  mutable bool types_alone_ = true;
};

std::size_t mixed(std::size_t hash, std::uint64_t word) {
  return (hash ^ word) * 0x9e3779b97f4a7c15U;
}

std::size_t hash_of(const OpDef& def, const OpFacts& facts) {
  std::size_t hash = mixed(0, reinterpret_cast<std::uintptr_t>(&def));  // the address only selects a slot
  for (int i = 0; i < facts.inputs(); ++i) {
    const Type& type = facts.input(i);
    hash = mixed(hash, static_cast<std::uint64_t>(type.dtype) + 1);
    for (const Dim& dim : type.shape.dims())
      hash = mixed(hash, static_cast<std::uint64_t>(dim.size()) ^ dim.symbol().size());
  }
  return hash ^ (hash >> 32);
}

}  // namespace

int OpFacts::axis(int i, std::int64_t axis) const {
  const int rank = shape(i).rank();
  if (axis < -rank || axis >= rank)
    fail("axis " + std::to_string(axis) + " is out of range for an input of rank " + std::to_string(rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void OpFacts::fail(const std::string& why) {
  throw Error(Code::plan, why);
}

std::vector<Type> infer_types(const OpDef& def, const OpFacts& facts) {
  check_attrs(def, facts.attrs());
  TypeSignature signature(def, facts);
  const std::vector<Shape> shapes = def.infer != nullptr ? def.infer(facts) : shapes_from_index(def, facts);
  const std::vector<DType> dtypes = signature.outputs(shapes.size());
  FERRY_ASSERT(shapes.size() == dtypes.size(), std::string(def.name) + ": notation and dtypes disagree on the outputs");
  std::vector<Type> types;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].rank() > kMaxRank)
      OpFacts::fail(formatted("the result would have {} dims; at most {} are allowed", shapes[i].rank(), kMaxRank));
    for (int d = 1; d < shapes[i].rank(); ++d)
      if (shapes[i][d].bounded())
        OpFacts::fail("the result would be " + shapes[i].str() +
                      ": only the first dim may be one that the step decides");
    types.push_back({dtypes[i], shapes[i]});
    if (shapes[i].known()) static_cast<void>(types.back().bytes());  // throws when the size overflows
  }
  return types;
}

InferCache::InferCache() : cases_(256) {}

const std::vector<Type>& InferCache::infer(const OpDef& def, const OpFacts& facts) {
  if (!facts.attrs().empty()) return last_ = infer_types(def, facts);
  Case& known = cases_[hash_of(def, facts) % cases_.size()];
  bool same = known.def == &def && static_cast<int>(known.inputs.size()) == facts.inputs();
  for (int i = 0; same && i < facts.inputs(); ++i) same = known.inputs[i] == facts.input(i);
  if (same) return known.outputs;
  const WatchedFacts watched(facts);
  last_ = infer_types(def, watched);
  if (!watched.types_alone()) return last_;
  known.def = &def;
  known.outputs = last_;
  known.inputs.clear();
  for (int i = 0; i < facts.inputs(); ++i) known.inputs.push_back(facts.input(i));
  return known.outputs;
}

}  // namespace ferry

#include "plan/equal/terms.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <variant>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "graph/op/infer.hpp"

namespace ferry::equal {
namespace {

/// Maximum bytes of all inputs, and of the output, of an op on constants that is evaluated. Planning computes no larger
/// constants.
constexpr std::int64_t kMostConstantBytes = 1 << 20;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  return std::rotl((hash ^ word) * 0x9e3779b97f4a7c15U, 29);
}

std::uint64_t hash_of(const AttrValue& value) {
  if (const auto* const tensor = std::get_if<Tensor>(&value))
    return hash64(tensor->bytes(), static_cast<std::uint64_t>(tensor->dtype()));
  if (const auto* const ints = std::get_if<Ints>(&value)) return hash64(std::as_bytes(std::span(*ints)), value.index());
  return hash64(str(value), value.index());
}

bool is_identity(const WindowOf& window, const Shape& from) {
  for (std::size_t d = 0; d < window.dims.size(); ++d)
    if (window.cuts(d, from[static_cast<int>(d)].size())) return false;
  return true;
}

bool is_inside(const Reads& reads, std::int64_t size) {
  return reads.size == 0 || (reads.begin >= 0 && reads.begin + (reads.size - 1) * reads.step < size);
}

/// Whether all elements that the window reads exist.
bool is_inside(const WindowOf& window, const Shape& from) {
  for (std::size_t d = 0; d < window.dims.size(); ++d)
    if (!is_inside(window.dims[d], from[static_cast<int>(d)].size())) return false;
  return true;
}

bool fills(const WindowOf& window, const Shape& from) {
  return !is_inside(window, from);
}

/// For a window `outer` of a window `inner` of a value of shape `from`: whether `inner` can read dim d of `outer`
/// directly. It cannot if `outer` reads outside of `inner` where `inner` may have elements, or if the two fill with
/// different values.
bool moves_in(const WindowOf& outer, const WindowOf& inner, const Shape& from, std::size_t d) {
  if (is_inside(outer.dims[d], inner.dims[d].size)) return true;
  return !inner.cuts(d, from[static_cast<int>(d)].size()) &&
         (!fills(inner, from) || std::bit_cast<std::uint64_t>(inner.fill) == std::bit_cast<std::uint64_t>(outer.fill));
}

}  // namespace

bool is_function(const OpDef& def) {
  return (def.flags & (kStateful | kRandom | kEffect | kControlFlow | kLocal)) == 0;
}

bool uses_sizes_only(const OpDef& def, std::size_t input, const Type& type) {
  return input < 32 && (def.unread >> input & 1U) != 0 && !type.shape.bounded();
}

/// The facts of an op with terms as inputs.
class TermFacts final : public OpFacts {
 public:
  TermFacts(const Terms& terms, std::span<const TypedTerm> inputs, const Attrs& attrs)
      : terms_(terms), inputs_(inputs), attrs_(attrs), constants_(inputs.size()) {}
  [[nodiscard]] int inputs() const override { return static_cast<int>(inputs_.size()); }
  [[nodiscard]] const Type& input(int i) const override { return terms_.type(inputs_[i].type); }
  [[nodiscard]] const Attrs& attrs() const override { return attrs_; }
  [[nodiscard]] const Tensor* constant(int i) const override {
    const auto k = static_cast<std::size_t>(i);
    if (inputs_[k].term == kNoTerm || terms_[inputs_[k].term].kind != Terms::Kind::constant) return nullptr;
    if (!constants_[k].defined()) constants_[k] = terms_.tensor(inputs_[k]);
    return &constants_[k];
  }
  [[nodiscard]] std::vector<Type> results(std::string_view) const override { fail("it has bodies"); }

 private:
  const Terms& terms_;
  std::span<const TypedTerm> inputs_;
  const Attrs& attrs_;
  mutable std::vector<Tensor> constants_;
};

// ---- Tables ----

TypeId Terms::type(const Type& type) {
  std::uint64_t hash = static_cast<std::uint64_t>(type.dtype);
  for (const Dim& dim : type.shape.dims())
    hash = mixed(hash, static_cast<std::uint64_t>(dim.size()) * 2 + (dim.bounded() ? 1 : 0));
  const auto [first, last] = types_by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (types_[at->second] == type) return at->second;
  const auto id = static_cast<TypeId>(types_.size());
  types_.push_back(type);
  sizes_.push_back(type.shape.sizes());
  counts_.push_back(type.shape.count());
  types_by_hash_.emplace(hash, id);
  return id;
}

std::uint32_t Terms::text(std::string_view text) {
  const auto [at, fresh] = text_numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (fresh) texts_.emplace_back(text);
  return at->second;
}

std::uint32_t Terms::attrs(const Attrs& attrs) {
  const auto known = attrs_by_address_.find(&attrs);
  if (known != attrs_by_address_.end()) return known->second;
  std::uint64_t hash = 1;
  for (const auto& [name, value] : attrs) hash = mixed(mixed(hash, hash64(name)), hash_of(value));
  const auto [first, last] = attrs_by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (attrs_[at->second].same(attrs)) return attrs_by_address_[&attrs] = at->second;
  const auto id = static_cast<std::uint32_t>(attrs_.size());
  attrs_.push_back(attrs);
  attrs_by_hash_.emplace(hash, id);
  return attrs_by_address_[&attrs] = id;
}

std::uint64_t Terms::hash(const Term& term) const {
  std::uint64_t hash = mixed(static_cast<std::uint64_t>(term.kind), term.attrs);
  if (term.def != nullptr) hash = mixed(hash, hash64(term.def->name));
  hash = mixed(mixed(hash, term.name), (std::uint64_t{term.output} << 32U) + term.detail);
  hash = mixed(hash, term.type);
  for (const TypedTerm& in : term.in) hash = mixed(hash, (std::uint64_t{in.term} << 32U) + in.type);
  return hash;
}

TermId Terms::known(const Term& term) const {
  const auto [first, last] = by_hash_.equal_range(hash(term));
  for (auto at = first; at != last; ++at)
    if (terms_[at->second] == term) return at->second;
  return kNoTerm;
}

TermId Terms::intern(Term term) {
  if (const TermId id = known(term); id != kNoTerm) return id;
  const TermId id = size();
  by_hash_.emplace(hash(term), id);
  terms_.push_back(std::move(term));
  return id;
}

// ---- Kinds of terms ----

TermId Terms::constant(const Tensor& value) {
  const std::uint64_t key = hash64(value.bytes(), static_cast<std::uint64_t>(value.dtype()));
  const auto [first, last] = constants_by_hash_.equal_range(key);
  for (auto at = first; at != last; ++at) {
    const Tensor& other = constants_[terms_[at->second].detail];
    if (other.dtype() == value.dtype() && std::ranges::equal(other.bytes(), value.bytes())) return at->second;
  }
  Term term{.kind = Kind::constant, .detail = static_cast<std::uint32_t>(constants_.size())};
  constants_.push_back(value);
  term.type = type({value.dtype(), Shape{value.count()}});
  const TermId id = intern(std::move(term));
  constants_by_hash_.emplace(key, id);
  return id;
}

Tensor Terms::tensor(const TypedTerm& constant) const {
  const Tensor& value = constants_[terms_[constant.term].detail];
  const std::vector<std::int64_t> sizes = type(constant.type).shape.sizes();
  const DType dtype = type(constant.type).dtype;
  return value.sizes() == sizes && value.dtype() == dtype ? value : Tensor::copy_of(dtype, sizes, value.bytes());
}

TermId Terms::nothing(DType dtype) {
  return constant(Tensor(dtype, {0}));
}

TermId Terms::symbol(std::string_view name, TypeId type) {
  if (is_empty(type)) return nothing(this->type(type).dtype);
  return intern({.kind = Kind::symbol, .name = text(name), .type = type});
}

TermId Terms::sum(std::span<const TypedTerm> inputs) {
  const DType dtype = type(inputs[0].type).dtype;
  if (is_empty(inputs[0].type)) return nothing(dtype);
  const TypeId flat = type({dtype, Shape{count(inputs[0].type)}});
  const auto is_sum = [&](const TypedTerm& input) {
    return terms_[input.term].kind == Kind::sum && terms_[input.term].type == flat;
  };
  const auto terms_of = [&](const TypedTerm& input) {
    return is_sum(input) ? terms_[input.term].detail : multisets_.single(input.term);
  };
  Multisets::Id all = terms_of(inputs[0]);
  for (const TypedTerm& input : inputs.subspan(1)) all = multisets_.add(all, terms_of(input));
  if (multisets_.size() > kMostInSums)
    throw Stop{false, "sums of sums have too many different terms: more than " + std::to_string(kMostInSums) +
                          " in all of them together"};
  if (const auto only = multisets_.only_element(all)) return *only;
  const auto [at, fresh] = sums_.try_emplace({all, flat}, size());
  if (!fresh) return at->second;
  if (inputs.size() > 2 || std::ranges::any_of(inputs, is_sum)) ++reordered_;
  terms_.push_back({.kind = Kind::sum, .detail = all, .type = flat, .in = {inputs.begin(), inputs.end()}});
  return at->second;
}

bool Terms::has_part(const TypedTerm& whole, const TypedTerm& part, std::uint32_t dim, std::int64_t begin) {
  const Term term = terms_[whole.term];
  if (term.kind != Kind::joined) return false;
  const bool flat = term.output == kFlat;
  if (!flat && (term.output != dim || term.type != whole.type)) return false;
  const std::vector<std::int64_t> all = sizes(whole.type), own = sizes(part.type);
  const std::int64_t row = flat ? count(whole.type) / all[dim] : 1;
  for (std::uint32_t d = 0; flat && d < dim; ++d)
    if (all[d] != 1) return false;
  std::vector<TypedTerm> inputs;
  std::int64_t at = 0, found = 0;
  for (const TypedTerm& input : term.in) {
    const std::int64_t size = flat ? count(input.type) : sizes(input.type)[dim];
    if (at >= begin * row && at + size <= (begin + own[dim]) * row) {
      inputs.push_back(input);
      found += size;
    }
    at += size;
  }
  return found == own[dim] * row && joined(dim, inputs, part.type) == part.term;
}

TermId Terms::joined(std::uint32_t dim, std::span<const TypedTerm> inputs, TypeId output) {
  const Shape shape = type(output).shape;
  bool flat = !shape.bounded();
  for (std::uint32_t d = 0; d < dim; ++d) flat = flat && shape[static_cast<int>(d)].size() == 1;
  Term term{.kind = Kind::joined, .output = flat ? kFlat : dim};
  for (const TypedTerm& input : inputs) {
    if (count(input.type) == 0) continue;
    const Term& one = terms_[input.term];
    if (one.kind == Kind::joined && one.output == term.output && (flat || one.type == input.type))
      term.in.insert(term.in.end(), one.in.begin(), one.in.end());
    else
      term.in.push_back({input.term, flat ? type({type(input.type).dtype, Shape{count(input.type)}}) : input.type});
  }
  if (term.in.size() == 1) return term.in[0].term;
  const auto is_constant = [&](const TypedTerm& input) { return terms_[input.term].kind == Kind::constant; };
  if (std::ranges::all_of(term.in, is_constant) && type(output).bytes() <= kMostConstantBytes)
    return constant(concatenate(flat ? 0 : dim, term.in, output));
  term.type = flat ? type({type(output).dtype, Shape{count(output)}}) : output;
  const std::uint32_t before = size();
  const TermId id = intern(std::move(term));
  if (id == before) parts_ += terms_[id].in.size();
  if (parts_ > kMostParts)
    throw Stop{false, "concatenations of concatenations have too many parts: more than " + std::to_string(kMostParts) +
                          " in all of them together"};
  return id;
}

/// Concatenates constants along a dim.
Tensor Terms::concatenate(std::uint32_t dim, std::span<const TypedTerm> inputs, TypeId output) const {
  Tensor all(type(output).dtype, {count(output)});
  std::int64_t rows = 1;
  for (std::uint32_t d = 0; d < dim; ++d) rows *= sizes(output)[d];
  std::size_t at = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (const TypedTerm& input : inputs) {
      const std::span<const std::byte> bytes = constants_[terms_[input.term].detail].bytes();
      const std::size_t run = bytes.size() / static_cast<std::size_t>(rows);
      std::ranges::copy(bytes.subspan(static_cast<std::size_t>(row) * run, run), all.mutable_bytes().data() + at);
      at += run;
    }
  return all;
}

TermId Terms::chosen(TermId predicate, const TypedTerm& then_value, const TypedTerm& else_value) {
  if (is_empty(then_value.type)) return nothing(type(then_value.type).dtype);
  return intern({.kind = Kind::chosen,
                 .type = then_value.type,
                 .in = {{predicate, type({DType::boolean, Shape()})}, then_value, else_value}});
}

TermId Terms::packed(std::string_view op, const Attrs& own, const TypedTerm& input, std::uint32_t source) {
  return intern({.kind = Kind::packed, .attrs = attrs(own), .name = text(op), .detail = source, .in = {input}});
}

std::uint32_t Terms::window(const WindowOf& window) {
  std::vector<std::int64_t> key{static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(window.fill))};
  for (const Reads& reads : window.dims) key.insert(key.end(), {reads.begin, reads.step, reads.size});
  const auto [at, fresh] = window_numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(windows_.size()));
  if (fresh) windows_.push_back(window);
  return at->second;
}

TermId Terms::make_window(const TypedTerm& input, WindowOf window, TypeId output) {
  const Type from = type(input.type);
  if (is_identity(window, from.shape)) return input.term;
  const Term inner = terms_[input.term];
  if (inner.kind == Kind::window && inner.type == input.type) {
    WindowOf before = windows_[inner.detail];
    const Shape source = type(inner.in[0].type).shape;
    bool any = false, outside = false;
    std::vector<std::int64_t> between = sizes(input.type);
    for (std::size_t d = 0; d < window.dims.size(); ++d) {
      Reads &outer = window.dims[d], &read = before.dims[d];
      if (!window.cuts(d, read.size) || !moves_in(window, windows_[inner.detail], source, d)) continue;
      any = true;
      outside = outside || !is_inside(outer, read.size);
      read = {read.begin + outer.begin * read.step, read.step * outer.step, outer.size};
      between[d] = outer.size;
      outer = {0, 1, outer.size};
    }
    if (any) {
      if (outside) before.fill = window.fill;
      const TypeId made = type({from.dtype, Shape(std::span<const std::int64_t>(between))});
      return make_window({make_window(inner.in[0], std::move(before), made), made}, std::move(window), output);
    }
  }
  for (Reads& reads : window.dims)
    if (reads.size == 1) reads.step = 1;
  if (!fills(window, from.shape)) window.fill = 0;
  if (inner.kind == Kind::constant && type(output).bytes() <= kMostConstantBytes)
    return constant(cut(input, window, output));
  return intern({.kind = Kind::window, .detail = this->window(window), .type = output, .in = {input}});
}

/// Applies a window to a constant.
Tensor Terms::cut(const TypedTerm& from, const WindowOf& window, TypeId output) const {
  const Tensor& source = constants_[terms_[from.term].detail];
  const std::size_t width = size_of(source.dtype());
  Tensor made(source.dtype(), sizes(output)), fill(source.dtype(), {1});
  dispatch(source.dtype(), [&](auto zero) {
    using T = decltype(zero);
    fill.mutable_data<T>()[0] = static_cast<T>(window.fill);
  });
  std::vector<std::int64_t> at(window.dims.size(), 0);
  for (std::size_t element = 0; element < made.bytes().size(); element += width) {
    std::int64_t place = 0;
    bool inside = true;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const std::int64_t k = window.dims[d].begin + at[d] * window.dims[d].step, size = sizes(from.type)[d];
      inside = inside && k >= 0 && k < size;
      place = place * size + k;
    }
    const auto bytes = inside ? source.bytes().subspan(static_cast<std::size_t>(place) * width, width) : fill.bytes();
    std::ranges::copy(bytes, made.mutable_bytes().data() + element);
    for (std::size_t d = at.size(); d > 0 && ++at[d - 1] == window.dims[d - 1].size; --d) at[d - 1] = 0;
  }
  return made;
}

// ---- Ops ----

TermId Terms::same_as(const OpDef& def, const OpFacts& facts, const Attrs& attrs, std::span<const TypedTerm> inputs,
                      TypeId output) const {
  if (def.is(kView)) return inputs[0].term;
  if (def.same != nullptr)
    if (const int k = def.same(facts); k >= 0 && inputs[k].type == output) return inputs[k].term;
  if (def.undoes == nullptr || inputs[0].term == kNoTerm) return kNoTerm;
  const Term& before = terms_[inputs[0].term];
  if (before.kind == Kind::op && before.def == &def && before.type == inputs[0].type && before.in[0].type == output &&
      def.undoes(attrs, attrs_[before.attrs]))
    return before.in[0].term;
  return kNoTerm;
}

bool Terms::folds(const OpDef& def, std::span<const TypedTerm> inputs, TypeId output) const {
  if (!evaluate_ || inputs.empty() || (def.flags & (kMoves | kExact)) == 0 || type(output).shape.bounded())
    return false;
  std::int64_t bytes = 0;
  for (const TypedTerm& input : inputs) {
    if (input.term == kNoTerm) continue;
    if (terms_[input.term].kind != Kind::constant) return false;
    bytes += type(input.type).bytes();
  }
  return bytes <= kMostConstantBytes && type(output).bytes() <= kMostConstantBytes;
}

TermId Terms::folded(const OpDef& def, const Attrs& own, std::span<const TypedTerm> inputs, TypeId output) {
  std::vector<std::uint32_t> key{text(def.name), attrs(own), output};
  std::vector<Type> types;
  for (const TypedTerm& input : inputs) key.insert(key.end(), {input.term, input.type});
  const auto [at, fresh] = folded_.try_emplace(key, kNoTerm);
  if (!fresh) return at->second;
  std::vector<Tensor> values;
  for (const TypedTerm& input : inputs) {
    types.push_back(type(input.type));
    values.push_back(input.term == kNoTerm ? Tensor() : tensor(input));
  }
  const Type out = type(output);
  const std::vector<Tensor> made = evaluate_({def, own, types, {&out, 1}, values});
  if (made.empty()) return kNoTerm;
  ++evaluated_;
  return folded_[key] = constant(made[0]);
}

std::vector<TypedTerm> Terms::apply(const OpDef& def, const Attrs& own, std::span<const TypedTerm> inputs,
                                    std::span<const TypeId> outputs, const std::function<std::string()>& where) {
  std::vector<TypedTerm> made;
  if (def.role == OpRole::constant) return {{constant(own.get<Tensor>("value")), outputs[0]}};
  if (is_function(def) && outputs.size() == 1 && !is_empty(outputs[0])) {
    const TermFacts facts(*this, inputs, own);
    const auto bounded = [&](const TypedTerm& value) { return type(value.type).shape.bounded(); };
    if (!inputs.empty()) {
      if (const TermId same = same_as(def, facts, own, inputs, outputs[0]); same != kNoTerm)
        return {{same, outputs[0]}};
      if (folds(def, inputs, outputs[0]))
        if (const TermId value = folded(def, own, inputs, outputs[0]); value != kNoTerm) return {{value, outputs[0]}};
    }
    if (def.window != nullptr && std::ranges::none_of(inputs, bounded) && !type(outputs[0]).shape.bounded())
      if (std::optional<WindowOf> window = def.window(facts))
        return {{make_window(inputs[0], *std::move(window), outputs[0]), outputs[0]}};
    if (def.joins != nullptr && std::ranges::none_of(inputs, bounded)) {
      const auto dim = def.joins(own, static_cast<std::size_t>(type(outputs[0]).shape.rank()));
      return {{joined(static_cast<std::uint32_t>(dim), inputs, outputs[0]), outputs[0]}};
    }
    const bool adds = def.reduce == Reduce::sum && inputs.size() == 2 &&
                      def.linear_in(type(outputs[0]).dtype) == 0b11 && inputs[0].type == outputs[0] &&
                      inputs[1].type == outputs[0];
    if (adds) return {{sum(inputs), outputs[0]}};
  }
  for (std::uint32_t o = 0; o < outputs.size(); ++o)
    made.push_back(
        {is_empty(outputs[o]) ? nothing(type(outputs[o]).dtype) : make_op(def, own, inputs, o, outputs[o], where),
         outputs[o]});
  return made;
}

/// The type without leading dims of size 1, which do not matter to an op that broadcasts its inputs.
TypeId Terms::without_leading_ones(TypeId id) {
  const Type whole = type(id);
  const auto dims = whole.shape.dims();
  const auto first = std::ranges::find_if(dims, [](const Dim& dim) { return dim.bounded() || dim.size() != 1; });
  return type({whole.dtype, Shape(std::vector<Dim>(first, dims.end()))});
}

TermId Terms::make_op(const OpDef& def, const Attrs& own, std::span<const TypedTerm> inputs, std::uint32_t output,
                      TypeId type, const std::function<std::string()>& where) {
  Term term{.kind = Kind::op, .def = &def, .attrs = attrs(own), .output = output, .type = type};
  term.in = {inputs.begin(), inputs.end()};
  if (!is_function(def)) term.name = text(where());
  if (def.is(kCommutes)) {
    for (TypedTerm& in : term.in) in.type = without_leading_ones(in.type);
    Term exchanged = term;
    std::swap(exchanged.in[0], exchanged.in[1]);
    if (const TermId id = known(exchanged); id != kNoTerm) return id;
  }
  return intern(std::move(term));
}

std::vector<Type> Terms::inferred(const OpDef& def, const Attrs& own, std::span<const TypedTerm> inputs) const {
  return infer_types(def, TermFacts(*this, inputs, own));
}

// ---- Texts ----

std::string Terms::str(TermId id, int depth) const {
  if (id == kNoTerm) return "(sizes)";
  const Term& term = terms_[id];
  std::string head;
  switch (term.kind) {
    case Kind::constant: {
      const Tensor& value = constants_[term.detail];
      return value.count() <= 4 ? value.str() : "constant " + value.type().str();
    }
    case Kind::symbol:
      return formatted("{}", text(term.name));
    case Kind::op:
      head = std::string(term.def->name) + (term.output > 0 ? ":" + std::to_string(term.output) : "");
      if (term.name != 0) head += formatted(" '{}'", text(term.name));
      break;
    case Kind::window:
      head = "Window";
      break;
    case Kind::sum:
      return depth == 0 ? "Sum of(…)" : "Sum of(" + join(texts_of_sum(term.detail, depth - 1), ", ") + ")";
    case Kind::joined:
      head = "Concat";
      break;
    case Kind::chosen:
      head = "Cond";
      break;
    case Kind::packed:
      head = text(term.name);
      break;
  }
  if (term.in.empty()) return head + "()";
  if (depth == 0) return head + "(…)";
  std::vector<std::string> inputs;
  for (std::size_t k = 0; k < term.in.size() && k < 6; ++k) inputs.push_back(str(term.in[k], depth - 1));
  if (term.in.size() > 6) inputs.emplace_back("…");
  return head + "(" + join(inputs, ", ") + ")";
}

std::string Terms::str(const TypedTerm& value, int depth) const {
  return value.term == kNoTerm ? "sizes of " + type(value.type).str() : str(value.term, depth);
}

/// The first terms of a sum as text; "3 × x" for a term that occurs three times.
std::vector<std::string> Terms::texts_of_sum(Multisets::Id terms, int depth) const {
  std::vector<std::string> texts;
  multisets_.visit(terms, [&](TermId term, const std::string& count) {
    if (texts.size() == 6) return texts.emplace_back("…"), false;
    texts.push_back((count == "1" ? "" : count + " × ") + str(term, depth));
    return true;
  });
  return texts;
}

std::string Terms::difference(TermId has, TermId wanted, int depth) const {
  if (has == kNoTerm || wanted == kNoTerm) return str(has) + ", not " + str(wanted);
  const Term &a = terms_[has], &b = terms_[wanted];
  const bool alike = a.kind == b.kind && a.def == b.def && a.in.size() == b.in.size() && !a.in.empty();
  if (alike && a.kind == Kind::op) {
    if (a.attrs != b.attrs) {
      std::vector<std::string> changed;
      for (const auto& [name, value] : attrs_[a.attrs]) {
        const AttrValue* const other = attrs_[b.attrs].find(name);
        if (other == nullptr || ferry::str(*other) != ferry::str(value))
          changed.push_back(name + " = " + ferry::str(value) + (other == nullptr ? "" : ", not " + ferry::str(*other)));
      }
      return std::string(a.def->name) + " has other attributes: " + join(changed, "; ");
    }
    std::size_t different = a.in.size(), differences = 0;
    for (std::size_t k = a.in.size(); k > 0; --k)
      if (a.in[k - 1] != b.in[k - 1]) {
        different = k - 1;
        ++differences;
      }
    if (differences == 1 && depth > 0 && a.in[different].term != b.in[different].term &&
        a.in[different].term != kNoTerm && b.in[different].term != kNoTerm &&
        terms_[a.in[different].term].kind == Kind::op)
      return "input " + std::to_string(different) + " of " + std::string(a.def->name) + ": " +
             difference(a.in[different].term, b.in[different].term, depth - 1);
  }
  return str(has) + ", not " + str(wanted);
}

}  // namespace ferry::equal

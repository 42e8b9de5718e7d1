// Terms: values as functions of a step's inputs, variables and constants. Equal terms have equal ids. Each term is in a
// normal form, so that the changes that planning may make to a graph do not change an id (docs/internals/equality.md
// has the rules).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/op/constant_op.hpp"
#include "graph/op/op_def.hpp"
#include "graph/types/halo.hpp"
#include "graph/types/shape.hpp"
#include "graph/types/tensor.hpp"
#include "plan/equal/multisets.hpp"

namespace ferry::equal {

using TermId = std::uint32_t;
using TypeId = std::uint32_t;
inline constexpr std::uint32_t kNoTerm = 0xffffffffU;

/// Ends a proof: a buffer has another value than the graph, or the rules do not determine its value.
struct Stop {
  bool differs = false;
  std::string what;
};

/// A whole value: the term of its elements in row-major order, and its type. Views of one value have one term.
struct TypedTerm {
  TermId term = kNoTerm;  ///< kNoTerm: an input that an op uses only for its sizes
  TypeId type = 0;
  bool operator==(const TypedTerm&) const = default;
};

/// Makes terms. Not thread-safe.
class Terms {
 public:
  using Evaluate = std::function<std::vector<Tensor>(const ConstantOp&)>;

  enum class Kind : std::uint8_t {
    constant,  ///< `constant`, an index into the constants
    op,        ///< output `output` of an op
    window,    ///< elements of `in[0]`, by `window`
    sum,       ///< sum of the multiset `detail` of terms, in any order; `in` are the first summands that made it
    joined,    ///< concatenation of its inputs along dim `output`; kFlat: of their flattened elements
    chosen,    ///< in[1] if in[0], else in[2]
    symbol,    ///< an input, a variable, or a carried value of a loop: `name`
    packed     ///< the packed form of in[0] that the packing op of a kernel makes: `name`, `attrs`
  };
  static constexpr std::uint32_t kFlat = 0xffffffffU;
  /// Maximum of Multisets::size(), about 150 MB. A chain of 400,000 additions of different values reaches it.
  static constexpr std::uint64_t kMostInSums = 1U << 22U;
  /// Maximum number of parts of all concatenations together, about 130 MB. A chain of 5,700 concatenations of different
  /// values reaches it.
  static constexpr std::uint64_t kMostParts = 1U << 24U;

  struct Term {
    Kind kind = Kind::symbol;
    const OpDef* def = nullptr;
    std::uint32_t attrs = 0;
    std::uint32_t name = 0;  ///< place and name of an op that is not a function of its inputs
    std::uint32_t output = 0;
    std::uint32_t detail = 0;  ///< index of a constant, a window or a multiset
    TypeId type = 0;           ///< the type of its first use
    std::vector<TypedTerm> in = {};
    bool operator==(const Term&) const = default;
  };

  explicit Terms(Evaluate evaluate) : evaluate_(std::move(evaluate)) { texts_.emplace_back(); }

  [[nodiscard]] TypeId type(const Type& type);
  [[nodiscard]] const Type& type(TypeId id) const { return types_[id]; }
  [[nodiscard]] std::int64_t count(TypeId id) const { return counts_[id]; }
  [[nodiscard]] const std::vector<std::int64_t>& sizes(TypeId id) const { return sizes_[id]; }
  /// Whether values of the type have no elements. Then they are all equal.
  [[nodiscard]] bool is_empty(TypeId id) const { return counts_[id] == 0 && !types_[id].shape.bounded(); }
  [[nodiscard]] TermId nothing(DType dtype);
  [[nodiscard]] std::uint32_t text(std::string_view text);
  [[nodiscard]] const std::string& text(std::uint32_t id) const { return texts_[id]; }
  [[nodiscard]] std::uint32_t attrs(const Attrs& attrs);

  [[nodiscard]] const Term& operator[](TermId id) const { return terms_[id]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(terms_.size()); }

  /// The outputs of an op, with these types. `where` returns a unique name for ops that are not functions of their
  /// inputs. `attrs` must outlive the terms.
  [[nodiscard]] std::vector<TypedTerm> apply(const OpDef& def, const Attrs& attrs, std::span<const TypedTerm> inputs,
                                             std::span<const TypeId> outputs,
                                             const std::function<std::string()>& where);
  /// The term of output number `output` of an op. It does not use the rules of apply() for outputs without elements and
  /// for ops that are functions. It identifies effects.
  [[nodiscard]] TermId make_op(const OpDef& def, const Attrs& attrs, std::span<const TypedTerm> inputs,
                               std::uint32_t output, TypeId type, const std::function<std::string()>& where);
  /// The types from the op's type inference. Throws Error(plan) like infer_types().
  [[nodiscard]] std::vector<Type> inferred(const OpDef& def, const Attrs& attrs,
                                           std::span<const TypedTerm> inputs) const;
  [[nodiscard]] TermId constant(const Tensor& value);
  [[nodiscard]] TermId symbol(std::string_view name, TypeId type);
  /// The sum of values of one type. A summand that is itself a sum of this type counts as its terms. Throws Stop (not
  /// proved) if the multisets of all sums take more memory than kMostInSums.
  [[nodiscard]] TermId sum(std::span<const TypedTerm> inputs);
  /// Throws Stop (not proved) if all concatenations together have more than kMostParts parts.
  [[nodiscard]] TermId joined(std::uint32_t dim, std::span<const TypedTerm> inputs, TypeId type);
  /// Whether the concatenation `whole` has the inputs that `part` joins, or `part` as an input, from index `begin` of
  /// `dim` on.
  [[nodiscard]] bool has_part(const TypedTerm& whole, const TypedTerm& part, std::uint32_t dim, std::int64_t begin);
  [[nodiscard]] TermId chosen(TermId predicate, const TypedTerm& then_value, const TypedTerm& else_value);
  /// `source` distinguishes packed forms of different parts of the input.
  [[nodiscard]] TermId packed(std::string_view op, const Attrs& attrs, const TypedTerm& input, std::uint32_t source);

  /// The term as text, down to a depth: "MatMul(x, Add(w, 1))".
  [[nodiscard]] std::string str(TermId id, int depth = 3) const;
  /// The difference between two terms as text. If their ops are equal, describes the difference of the first inputs
  /// that differ.
  [[nodiscard]] std::string difference(TermId has, TermId wanted, int depth = 8) const;

  /// The memory of the sums, in nodes and words: Multisets::size().
  [[nodiscard]] std::uint64_t size_of_sums() const { return multisets_.size(); }
  [[nodiscard]] std::uint32_t evaluated() const { return evaluated_; }
  /// The number of sums with terms from several ops of the graph, which are proved equal only without regard to order.
  [[nodiscard]] std::uint32_t reordered() const { return reordered_; }

 private:
  TermId intern(Term term);
  [[nodiscard]] TypeId without_leading_ones(TypeId id);
  /// kNoTerm: the term does not exist yet.
  [[nodiscard]] TermId known(const Term& term) const;
  [[nodiscard]] std::uint64_t hash(const Term& term) const;
  [[nodiscard]] TermId same_as(const OpDef& def, const OpFacts& facts, const Attrs& attrs,
                               std::span<const TypedTerm> inputs, TypeId output) const;
  [[nodiscard]] TermId make_window(const TypedTerm& input, WindowOf window, TypeId output);
  [[nodiscard]] std::uint32_t window(const WindowOf& window);
  [[nodiscard]] bool folds(const OpDef& def, std::span<const TypedTerm> inputs, TypeId output) const;
  [[nodiscard]] TermId folded(const OpDef& def, const Attrs& attrs, std::span<const TypedTerm> inputs, TypeId output);
  [[nodiscard]] Tensor tensor(const TypedTerm& constant) const;
  /// The same for an input of a term.
  [[nodiscard]] std::string str(const TypedTerm& value, int depth) const;
  [[nodiscard]] std::vector<std::string> texts_of_sum(Multisets::Id terms, int depth) const;
  [[nodiscard]] Tensor cut(const TypedTerm& from, const WindowOf& window, TypeId output) const;
  [[nodiscard]] Tensor concatenate(std::uint32_t dim, std::span<const TypedTerm> inputs, TypeId output) const;

  friend class TermFacts;

  Evaluate evaluate_;
  std::vector<Term> terms_;
  std::unordered_multimap<std::uint64_t, TermId> by_hash_;
  std::deque<Type> types_;  // references to them stay valid
  std::deque<std::vector<std::int64_t>> sizes_;
  std::vector<std::int64_t> counts_;
  std::unordered_multimap<std::uint64_t, TypeId> types_by_hash_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> text_numbers_;
  std::vector<Attrs> attrs_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> attrs_by_hash_;
  std::unordered_map<const Attrs*, std::uint32_t> attrs_by_address_;
  std::vector<Tensor> constants_;
  std::unordered_multimap<std::uint64_t, TermId> constants_by_hash_;
  std::vector<WindowOf> windows_;
  std::map<std::vector<std::int64_t>, std::uint32_t> window_numbers_;
  Multisets multisets_;
  std::map<std::pair<Multisets::Id, TypeId>, TermId> sums_;
  std::map<std::vector<std::uint32_t>, TermId> folded_;  // kNoTerm: the op could not be evaluated
  std::uint32_t evaluated_ = 0, reordered_ = 0;
  std::uint64_t parts_ = 0;  // number of parts of all concatenations
};

/// Whether the op's outputs are a function of its inputs and attributes.
[[nodiscard]] bool is_function(const OpDef& def);
/// Whether the op uses only the sizes of this input.
[[nodiscard]] bool uses_sizes_only(const OpDef& def, std::size_t input, const Type& type);

}  // namespace ferry::equal

// Terms: what values are, as functions of a step's inputs, variables and constants. Equal terms have equal numbers.
// Each term is in a normal form, so that what planning may do with a graph changes no number
// (docs/internals/equality.md has the rules).
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

/// The end of a proof: a buffer has another value than the graph, or the rules do not give its value.
struct Stop {
  bool differs = false;
  std::string what;
};

/// A whole value: its elements in row-major order, and its type. Views of one value have one term.
struct TypedTerm {
  TermId term = kNoTerm;  ///< kNoTerm: of an input that an op uses only for its sizes
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
    sum,       ///< of the multiset `detail` of terms, in any order; `in` are the values that it was first made from
    joined,    ///< its inputs one after another along dim `output`; kFlat: of all of their elements
    chosen,    ///< in[1] if in[0], else in[2]
    symbol,    ///< an input, a variable, or a value that a loop carries: `name`
    packed     ///< what the kernel of an op makes of in[0] to read it faster: `name`, `attrs`
  };
  static constexpr std::uint32_t kFlat = 0xffffffffU;
  /// The most nodes and words of Multisets: about 150 MB. A chain of 400,000 additions of different values needs them.
  static constexpr std::uint64_t kMostInSums = 1U << 22U;
  /// The most parts of all concatenations: about 130 MB. A chain of 5,700 concatenations of different values has them.
  static constexpr std::uint64_t kMostParts = 1U << 24U;

  struct Term {
    Kind kind = Kind::symbol;
    const OpDef* def = nullptr;
    std::uint32_t attrs = 0;
    std::uint32_t name = 0;  ///< of ops that are more than a function of their inputs: where they are, and their name
    std::uint32_t output = 0;
    std::uint32_t detail = 0;  ///< index of a constant, a window or a multiset
    TypeId type = 0;           ///< with which it was made
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

  /// The outputs of an op, of these types. `where` names ops that are more than a function of their inputs. `attrs`
  /// must outlive the terms.
  [[nodiscard]] std::vector<TypedTerm> apply(const OpDef& def, const Attrs& attrs, std::span<const TypedTerm> inputs,
                                             std::span<const TypeId> outputs,
                                             const std::function<std::string()>& where);
  /// The term of an op as its output number `output`, without the rules for outputs without elements and for ops that
  /// are functions. Effects are told apart by it.
  [[nodiscard]] TermId make_op(const OpDef& def, const Attrs& attrs, std::span<const TypedTerm> inputs,
                               std::uint32_t output, TypeId type, const std::function<std::string()>& where);
  /// The types that the op's inference gives. Error(plan) as infer_types.
  [[nodiscard]] std::vector<Type> inferred(const OpDef& def, const Attrs& attrs,
                                           std::span<const TypedTerm> inputs) const;
  [[nodiscard]] TermId constant(const Tensor& value);
  [[nodiscard]] TermId symbol(std::string_view name, TypeId type);
  /// The sum of values of one type. A sum of the same type among them counts as its terms. Stop (not proved) if the
  /// multisets of all sums take more memory than kMostInSums.
  [[nodiscard]] TermId sum(std::span<const TypedTerm> inputs);
  /// Stop (not proved) if all concatenations together have more than kMostParts parts.
  [[nodiscard]] TermId joined(std::uint32_t dim, std::span<const TypedTerm> inputs, TypeId type);
  [[nodiscard]] TermId chosen(TermId predicate, const TypedTerm& then_value, const TypedTerm& else_value);
  /// `source` tells the parts of the input apart.
  [[nodiscard]] TermId packed(std::string_view op, const Attrs& attrs, const TypedTerm& input, std::uint32_t source);

  /// The term in words, to a depth: "MatMul(x, Add(w, 1))".
  [[nodiscard]] std::string str(TermId id, int depth = 3) const;
  /// How two terms differ, in words; where their ops are alike, how the first different inputs differ.
  [[nodiscard]] std::string difference(TermId has, TermId wanted, int depth = 8) const;

  /// The memory of the sums: Multisets::size().
  [[nodiscard]] std::uint64_t size_of_sums() const { return multisets_.size(); }
  [[nodiscard]] std::uint32_t evaluated() const { return evaluated_; }
  /// How many sums have terms that come from several ops of the graph, so that their order was given up.
  [[nodiscard]] std::uint32_t reordered() const { return reordered_; }

 private:
  TermId intern(Term term);
  [[nodiscard]] TypeId without_leading_ones(TypeId id);
  /// kNoTerm: there is no such term.
  [[nodiscard]] TermId known(const Term& term) const;
  [[nodiscard]] std::uint64_t hash(const Term& term) const;
  [[nodiscard]] TermId same_as(const OpDef& def, const OpFacts& facts, const Attrs& attrs,
                               std::span<const TypedTerm> inputs, TypeId output) const;
  [[nodiscard]] TermId windowed(const TypedTerm& input, WindowOf window, TypeId output);
  [[nodiscard]] std::uint32_t window(const WindowOf& window);
  [[nodiscard]] bool folds(const OpDef& def, std::span<const TypedTerm> inputs, TypeId output) const;
  [[nodiscard]] TermId folded(const OpDef& def, const Attrs& attrs, std::span<const TypedTerm> inputs, TypeId output);
  [[nodiscard]] Tensor tensor(const TypedTerm& constant) const;
  /// The same, of an input of a term.
  [[nodiscard]] std::string str(const TypedTerm& value, int depth) const;
  [[nodiscard]] std::vector<std::string> texts_of_sum(Multisets::Id terms, int depth) const;
  [[nodiscard]] Tensor cut(const TypedTerm& from, const WindowOf& window, TypeId output) const;
  [[nodiscard]] Tensor concatenated(std::uint32_t dim, std::span<const TypedTerm> inputs, TypeId output) const;

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
  std::uint64_t parts_ = 0;  // of all concatenations
};

/// Whether the op's outputs are a function of its inputs and attributes alone.
[[nodiscard]] bool is_function(const OpDef& def);
/// Whether the op uses only the sizes of that input.
[[nodiscard]] bool uses_sizes_only(const OpDef& def, std::size_t input, const Type& type);

}  // namespace ferry::equal

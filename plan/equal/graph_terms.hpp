// The terms of a graph's values: what a plan must compute.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "plan/equal/terms.hpp"
#include "plan/signature.hpp"
#include "plan/topology/topology.hpp"

namespace ferry::equal {

/// A loop of the graph. Its carried values are symbols in its condition and body, so a proof for one iteration holds
/// for every iteration.
struct LoopTerms {
  std::vector<TypedTerm> initial, carried, results, outputs;
  TermId condition = kNoTerm;
};

/// The effects of ops in one body of a loop or branch, or in the step.
using Effects = std::set<TermId>;

class GraphTerms {
 public:
  GraphTerms(Terms& terms, const Graph& graph, const Signature& signature, const Topology& topology);

  /// The terms of the fetches, in the order of the signature.
  std::vector<TypedTerm> fetches;
  std::vector<std::string> fetch_names;  ///< names of the fetches in the graph
  std::vector<TypedTerm> feeds;          ///< the terms of the signature's feeds, in its order
  std::vector<std::string> feed_names;
  [[nodiscard]] const Signature& signature() const { return signature_; }
  /// A variable's values before and after the step.
  struct Variable {
    TypedTerm before, after;
    bool assigned = false;
  };
  std::map<std::string, Variable, std::less<>> variables;  ///< by name
  /// The loops, by their place, such as "step/while_1".
  std::map<std::string, LoopTerms> loops;
  /// The conditions of the branches, by their place.
  std::map<std::string, TermId> branches;
  std::map<std::string, Effects> effects;  ///< by place
  /// The ops that can fail (ops/may_fail.hpp), by the place where the graph runs them.
  std::map<std::string, std::set<TermId>> fallible;
  /// The definitions of the ops in the graph and its bodies, by OpDef::name.
  std::map<std::string, const OpDef*, std::less<>> defs;
  /// The value with that name in that place, or null. Names find the carried values of loops and the values of parts
  /// without elements.
  [[nodiscard]] const TypedTerm* named(const std::string& place, std::string_view name) const;
  /// The first op of the graph, or of its bodies, that makes the term; null if none does.
  [[nodiscard]] const Op* maker(TermId term) const;
  /// Whether the graph has asynchronous updates (kAsynchronous).
  bool asynchronous = false;

 private:
  using Scope = std::vector<TypedTerm>;  // of each value of one graph

  void walk(const Graph& graph, const std::vector<bool>& needed, const std::string& place, Scope& values);
  void visit(const Op& op, const std::string& place, Scope& values);
  void visit_loop(const Op& op, const std::string& place, Scope& values);
  void visit_branch(const Op& op, const std::string& place, Scope& values);
  Scope walk_body(const Graph& body, const std::string& place, std::span<const TypedTerm> arguments);
  [[nodiscard]] std::vector<TypeId> types_of(const Op& op, const Attrs& attrs, const std::vector<TypedTerm>& inputs);
  [[nodiscard]] const Attrs& attrs_of(const Op& op);
  /// The task that the annotation of an op with kLocal names.
  [[nodiscard]] std::int32_t task_of(const Op& op) const;

  Terms& terms_;
  const Signature& signature_;
  const Topology& topology_;
  std::deque<Attrs> added_;
  std::unordered_map<TermId, Op> makers_;
  std::map<std::string, std::unordered_map<std::string, TypedTerm>> named_;
};

/// The place inside an op: inside("step", "while_1") is "step/while_1".
[[nodiscard]] std::string inside(const std::string& place, std::string_view name);
/// Identifies an op that is not a function of its inputs by its place and name. An op with kOnce has the same value in
/// all places, because the setup computes it; an op with kLocal has another value on each `task`.
[[nodiscard]] std::string identity_of(const OpDef& def, const std::string& place, std::string_view name,
                                      std::int32_t task);

}  // namespace ferry::equal

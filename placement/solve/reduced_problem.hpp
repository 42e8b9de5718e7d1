// ReducedProblem: reduces a problem by removing choices and variables. The minimal cost stays the same.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "placement/solve/problem.hpp"

namespace ferry {

class ReducedProblem {
 public:
  explicit ReducedProblem(const Problem& problem);

  /// Removes dominated choices (Goldstein's rule), and eliminates variables with one choice or with at most two
  /// neighbours, until nothing more can be reduced.
  void reduce();

  /// The remaining problem. Its variables are remaining_variables(), in order.
  [[nodiscard]] Problem rest() const;
  /// The remaining variables, ascending.
  [[nodiscard]] std::vector<std::uint32_t> remaining_variables() const;
  /// The cost that the eliminated variables add to every solution.
  [[nodiscard]] std::int64_t constant() const { return constant_; }

  /// The choices of the whole problem for given choices of rest().
  [[nodiscard]] std::vector<std::uint32_t> expand(const std::vector<std::uint32_t>& of_rest) const;

 private:
  /// An eliminated variable: its best choice for each combination of the remaining choices of its neighbours.
  struct Elimination {
    std::uint32_t variable = 0;
    std::vector<std::uint32_t> neighbours;
    std::vector<std::vector<std::uint32_t>> originals;  ///< original index of each neighbour's choices, ascending
    std::vector<std::uint32_t> best;                    ///< row-major in the neighbours' choices
  };

  [[nodiscard]] std::size_t size(std::uint32_t variable) const { return costs_[variable].size(); }
  void add_table(std::uint32_t a, std::uint32_t b, const std::vector<std::int64_t>& table);
  [[nodiscard]] bool remove_dominated(std::uint32_t variable);
  /// Removes the choices of a variable that are not in `kept`, which has at least one.
  void keep(std::uint32_t variable, const std::vector<bool>& kept);
  [[nodiscard]] bool dominates(std::uint32_t variable, std::size_t better, std::size_t worse) const;
  /// Eliminates a variable that has at most two neighbours.
  void eliminate(std::uint32_t variable);
  /// Records the elimination of a variable; `best` are indices of its remaining choices.
  void record_elimination(std::uint32_t variable, const std::vector<std::uint32_t>& neighbours,
                          std::vector<std::uint32_t> best);
  void disconnect(std::uint32_t variable);

  std::vector<std::vector<std::int64_t>> costs_;
  std::vector<std::map<std::uint32_t, std::vector<std::int64_t>>> tables_;  // both directions
  std::vector<std::vector<std::uint32_t>> originals_;  // for each remaining choice, its original index
  std::vector<bool> gone_;
  std::vector<Elimination> eliminations_;
  std::int64_t constant_ = 0;
};

}  // namespace ferry

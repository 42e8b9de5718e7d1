// The results of a run of a session, to compare them with the results of another session.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "executor/session/session.hpp"
#include "graph/types/tensor.hpp"
#include "tests/support/dice.hpp"

namespace ferry::test {

/// Numbers with a sum that depends on the order of additions.
inline Tensor random_tensor(DType dtype, const std::vector<std::int64_t>& sizes, Dice& dice) {
  Tensor value(dtype, sizes);
  for (float& element : value.mutable_data<float>())
    element = static_cast<float>(dice.below(2000001) - 1000000) * 1e-6F;
  return value;
}

struct Outcome {
  /// Takes a session that has run and its fetches; checks that traffic and memory equal the plan's figures.
  template <class AnySession>
  Outcome(AnySession& session, std::vector<Tensor> given) : fetched(std::move(given)) {
    for (const TaskStats& task : session.stats().tasks) {
      CHECK(task.measured == task.planned);
      CHECK(task.peak_bytes <= task.planned_peak_bytes);
      messages += task.measured.sent_messages;
      bytes += task.measured.sent_bytes;
    }
    variables = session.variables();  // after the counts: getting them sends messages, too
  }

  std::vector<Tensor> fetched;
  TensorMap variables;
  std::int64_t messages = 0, bytes = 0;  ///< sent by all tasks in the last step
};

inline void check_same_bits(const Outcome& a, const Outcome& b) {
  REQUIRE(a.fetched.size() == b.fetched.size());
  for (std::size_t i = 0; i < a.fetched.size(); ++i)
    CHECK_MESSAGE(a.fetched[i].same_bits(b.fetched[i]), a.fetched[i].str() << " is not " << b.fetched[i].str());
  for (const auto& variable : a.variables)
    CHECK_MESSAGE(variable.second.same_bits(b.variables.at(variable.first)), variable.first);
}

}  // namespace ferry::test

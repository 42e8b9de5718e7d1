// Local SGD: tasks train for several steps by themselves and then average their weights, so that messages are sent now
// and then instead of for every gradient (McDonald et al., 2010; Stich, "Local SGD converges fast and communicates
// little", 2019).
//
// Each task has a copy of the network, on a device of its own:
//
//     std::vector<Values> copies;  // the variables of each task
//     Values updates;
//     for (int task = 0; task < 2; ++task) {
//       auto here = g.device("/task:" + std::to_string(task));
//       auto names = g.name("copy" + std::to_string(task));
//       nn::Parameters parameters(g);
//       const nn::Dense out(parameters, "out", 3, 4);
//       copies.push_back(parameters.trained());
//       for (const Value& update : sgd(mean(square(out(x) - y)), copies.back(), 0.1)) updates.push_back(update);
//     }
//     updates = averaged_every(8, copies, updates);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Returns the same updates, except that in every `every`-th step the variables copies[0][i], copies[1][i], … become
/// the mean of their updated values. In other steps no messages are sent for them. If the copies may have different
/// numbers of rows, each copy is weighted by the number of rows that it has processed since the last mean (or, if its
/// loss is a weighted mean, by the sum of their weights). Variables that are not copies, such as an optimizer's state,
/// change as `updates` says. Run the result instead of `updates`. State: a count of steps, named after the first
/// variable, and the weights of the copies.
///
/// Throws Error(plan) with the caller's line if there are no copies, if the copies do not have equally many
/// floating-point variables of equal types, or if `updates` lacks the update of one of them. It also throws if a copy's
/// loss is a sum of means with different divisors.
///
///     Value a = g.variable("a", g.constant({1.0})), b = g.variable("b", g.constant({3.0}));
///     Values updates = averaged_every(8, {{a}, {b}}, {assign(a, a * 2), assign(b, b * 2)});
[[nodiscard]] Values averaged_every(std::int64_t every, const std::vector<Values>& copies, const Values& updates,
                                    source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop

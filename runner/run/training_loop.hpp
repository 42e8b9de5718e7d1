// TrainingLoop: the loop of a program that decides after each step what to do next.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "executor/session/session.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Runs the steps of a run with the options of `ferry run`, one after another. run_main() makes it and calls the
/// program's loop with it. The options control the number of steps, evaluations, checkpoints and resuming, progress,
/// metrics and reports. The loop controls feeds, evaluations of its own, and an early stop. All processes make the same
/// calls.
///
///     return ferry::run_main(argc, argv, g, [&](ferry::TrainingLoop& loop) {
///       double best = 1e9;
///       while (loop.step({{"x", next_batch(loop.done())}})) {
///         if (loop.done() % 100 != 0) continue;
///         const double loss = loop.evaluate("loss");
///         if (loss >= best) break;  // an early stop: the run ends as after its last step
///         best = loss;
///       }
///     });
class TrainingLoop {
 public:
  /// Runs the next step of the entry. Returns false if no step is left. `feeds` are given in addition to --feed. With
  /// --eval-every N, an evaluation follows after N steps. Errors as Session::run.
  virtual bool step(const FeedMap& feeds = {}) = 0;
  /// The number of steps that have been run, including those before the checkpoint that --resume continues from.
  [[nodiscard]] virtual std::int64_t done() const = 0;
  /// The number of steps of the whole run: --steps, or as many as --epochs takes.
  [[nodiscard]] virtual std::int64_t total() const = 0;
  /// A fetch of the last step, by its name in the entry. It is defined in the process of --fetch-to (by default task
  /// 0's).
  [[nodiscard]] virtual const Tensor& fetched(std::string_view name) const = 0;
  /// Runs the entry "eval" once over its data, or one step with `feeds`, and prints its scalars. Without feeds, if an
  /// evaluation has already followed the last step, uses its results. Returns the mean of the scalar `name` of that
  /// entry, in all processes. Error(usage) if the graph has no such entry, or the entry has no such scalar.
  virtual double evaluate(std::string_view name, const FeedMap& feeds = {}) = 0;
  /// The session that runs the steps, and its cluster, for other requests. A request with the fetches and targets of
  /// the entry counts as a step of the run; use step() for such a request.
  [[nodiscard]] virtual Session& session() = 0;

 protected:
  ~TrainingLoop() = default;
};

/// A program's loop. Its exceptions end the job.
using Loop = std::function<void(TrainingLoop& loop)>;

}  // namespace ferry
#pragma GCC visibility pop

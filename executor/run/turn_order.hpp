// TurnOrder: the order of turns at a task that serves workers (Serving in plan/plan.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "executor/observe/turn_record.hpp"
#include "executor/run/ledger.hpp"
#include "executor/run/resolved.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Sends a worker its next inputs once its previous results are applied, unless the worker would exceed the staleness
/// bound. A worker's results are taken when all of them have arrived. Workers that are ready get their turns in
/// round-robin order. When replaying, turns come in the recorded order instead. A worker that is lost
/// (JobMembership::spare) has no more turns, and nothing waits for it. Used by walker 0 alone.
class TurnOrder {
 public:
  /// Precondition: the task serves others. `record`: null if turns are neither recorded nor replayed. The arguments
  /// must outlive this object.
  TurnOrder(ResolvedPlan& resolved, const Transport& transport, Ledger& ledger, TurnRecord* record);

  struct Turn {
    std::size_t worker = 0;  ///< index into Serving::turns
    bool take = false;
  };

  /// `following`: the number of steps of the run after this one. Workers begin no steps beyond these.
  void begin_step(std::int64_t step, std::int64_t following);
  /// Whether the step's turns have ended: the results of all workers for this step have been taken. If so, the turns of
  /// the next step begin.
  [[nodiscard]] bool end_step();
  /// Whether no worker is behind: the results of all workers for this step have been taken. next() can make this true,
  /// as workers can be lost. end_step() is false until this is true.
  [[nodiscard]] bool complete() const;
  /// A turn that can be run, if there is one. Error(peer_lost) if all workers are lost.
  [[nodiscard]] std::optional<Turn> next();
  /// The turn's instructions in the step. For a take, without its receive_waits, which are done.
  [[nodiscard]] Range instructions(const Turn& turn) const;
  /// The receive_waits of a take.
  [[nodiscard]] std::span<const Resolved> received(const Turn& turn) const;
  void done(const Turn& turn);
  /// If no turn can be run: the receive_wait of a message that the worker which is behind has not sent yet.
  /// Precondition: !complete().
  [[nodiscard]] const Resolved& awaited() const;

 private:
  struct Worker {
    std::span<const Resolved> receives;  ///< the receive_waits of its take
    std::vector<bool> arrived;           ///< by receive
    std::int64_t ahead = 0;              ///< number of its steps that were taken, from this step on
    bool has_inputs = false;             ///< its inputs were sent, and its results are not taken yet
    bool lost = false;
  };

  [[nodiscard]] bool may_send_inputs(const Worker& worker) const;
  [[nodiscard]] bool poll_results(Worker& worker);
  [[nodiscard]] std::optional<Turn> next_recorded();
  void look_for_losses();
  void mark_lost(std::size_t worker);

  const Serving& serving_;
  const Transport& transport_;
  Ledger& ledger_;
  TurnRecord* const record_;
  std::optional<Turn> due_;          ///< replaying: the turn that comes next
  std::vector<std::int32_t> tasks_;  ///< of the workers
  std::vector<Worker> workers_;
  std::int64_t following_ = 0;
  std::size_t last_ = 0;  ///< the worker that had the last turn
};

}  // namespace ferry

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
/// bound. A worker's results are taken when all of them have arrived. Among those that are ready each comes once in a
/// round. Or all is done in the order of a record. A worker that is lost (JobMembership::spare) has no more turns, and
/// nothing waits for it. Used by walker 0 alone.
class TurnOrder {
 public:
  /// Precondition: the task serves others. `record`: null where turns are neither recorded nor replayed. The arguments
  /// must outlive it.
  TurnOrder(ResolvedPlan& resolved, const Transport& transport, Ledger& ledger, TurnRecord* record);

  struct Turn {
    std::size_t worker = 0;  ///< index into Serving::turns
    bool take = false;
  };

  /// `following`: how many steps of the run come after this one. Workers do not begin others.
  void begin_step(std::int64_t step, std::int64_t following);
  /// What all workers give in this step has been taken: the step's turns have ended, and the next one's begin.
  [[nodiscard]] bool end_step();
  /// Whether no worker is behind, so that end_step() may be true, which it may become in next() as workers are lost.
  [[nodiscard]] bool complete() const;
  /// A turn that can be run, if there is one. Error(peer_lost) when all workers are lost.
  [[nodiscard]] std::optional<Turn> next();
  /// Its instructions of the step; for a take, without its receive_waits, which are done.
  [[nodiscard]] Range instructions(const Turn& turn) const;
  /// The receive_waits of a take.
  [[nodiscard]] std::span<const Resolved> received(const Turn& turn) const;
  void done(const Turn& turn);
  /// What the worker that is behind has not sent yet, if no turn can be run. Precondition: !complete().
  [[nodiscard]] const Resolved& awaited() const;

 private:
  struct Worker {
    std::span<const Resolved> receives;  ///< the receive_waits of its take
    std::vector<bool> arrived;           ///< of each
    std::int64_t ahead = 0;              ///< steps of it that are taken, this one and later ones
    bool given = false;                  ///< and not taken yet
    bool lost = false;
  };

  [[nodiscard]] bool may_get(const Worker& worker) const;
  [[nodiscard]] bool has_come(Worker& worker);
  [[nodiscard]] std::optional<Turn> recorded();
  void look_for_losses();
  void give_up(std::size_t worker);

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

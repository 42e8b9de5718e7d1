#include "executor/run/turn_order.hpp"

#include <algorithm>

namespace ferry {

using Kind = TurnRecord::Turn::Kind;

TurnOrder::TurnOrder(ResolvedPlan& resolved, const Transport& transport, Ledger& ledger, TurnRecord* record)
    : serving_(resolved.plan().class_for(resolved.task()).serving),
      transport_(transport),
      ledger_(ledger),
      record_(record) {
  const std::span<const Resolved> step = resolved.list(1, 0);
  for (const Serving::Turns& turns : serving_.turns) {
    const auto take = step.subspan(turns.take.first, turns.take.count);
    const auto end = std::ranges::find_if(take, [](const Resolved& r) { return r.what != Opcode::receive_wait; });
    const auto receives = static_cast<std::size_t>(end - take.begin());
    workers_.push_back({take.first(receives), std::vector<bool>(receives)});
    tasks_.push_back(turns.worker);
  }
}

void TurnOrder::begin_step(std::int64_t step, std::int64_t following) {
  following_ = following;
  if (record_ != nullptr) record_->begin_step(step, tasks_);
}

bool TurnOrder::end_step() {
  if (!complete()) return false;
  if (record_ != nullptr && record_->replays() && (due_ || (due_ = next_recorded()))) return false;
  for (Worker& worker : workers_)
    if (!worker.lost) --worker.ahead;
  if (record_ != nullptr) record_->end_step();
  return true;
}

bool TurnOrder::complete() const {
  return std::ranges::none_of(workers_, [](const Worker& worker) { return !worker.lost && worker.ahead == 0; });
}

bool TurnOrder::may_send_inputs(const Worker& worker) const {
  return !worker.lost && !worker.has_inputs && worker.ahead <= std::min(serving_.staleness, following_);
}

bool TurnOrder::poll_results(Worker& worker) {
  bool all = true;
  for (std::size_t i = 0; i < worker.receives.size(); ++i) {
    if (worker.arrived[i]) continue;
    const Resolved& r = worker.receives[i];
    worker.arrived[i] = (r.flags & Resolved::kTaken) != 0 ? ledger_.try_take(r) : ledger_.arrived(*r.link);
    all = all && worker.arrived[i];
  }
  return all;
}

/// The record's next turn, whether or not it can be run yet.
std::optional<TurnOrder::Turn> TurnOrder::next_recorded() {
  while (const std::optional<TurnRecord::Turn> turn = record_->next()) {
    const auto worker = static_cast<std::size_t>(std::ranges::find(tasks_, turn->worker) - tasks_.begin());
    if (turn->kind == Kind::lost) {
      mark_lost(worker);
      continue;
    }
    const bool take = turn->kind == Kind::take;
    if (take ? !workers_[worker].has_inputs || workers_[worker].lost : !may_send_inputs(workers_[worker]))
      record_->refuse((take ? "nothing can be taken from task " : "nothing may be given to task ") +
                      std::to_string(turn->worker));
    return Turn{worker, take};
  }
  return std::nullopt;
}

void TurnOrder::look_for_losses() {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].lost || !transport_.is_lost(tasks_[w])) continue;
    mark_lost(w);
    if (record_ != nullptr) record_->add({tasks_[w], Kind::lost});
  }
}

void TurnOrder::mark_lost(std::size_t worker) {
  workers_[worker].lost = true;
  if (!std::ranges::all_of(workers_, &Worker::lost)) return;
  throw Error(Code::peer_lost, "all workers are lost: the last was task {}", tasks_[worker])
      .hint("see what the workers printed last; start again from a checkpoint, with --resume");
}

std::optional<TurnOrder::Turn> TurnOrder::next() {
  if (record_ != nullptr && record_->replays()) {
    if (!due_ && !(due_ = next_recorded())) {
      if (complete()) return std::nullopt;
      record_->refuse("workers are behind");
    }
    if (due_->take && !poll_results(workers_[due_->worker])) return std::nullopt;
    return due_;
  }
  look_for_losses();
  for (std::size_t k = 1; k <= workers_.size(); ++k) {
    const std::size_t w = (last_ + k) % workers_.size();
    if (may_send_inputs(workers_[w])) return Turn{w, false};
    // If the task was lost during the poll, its results may be incomplete, so this checks again.
    if (workers_[w].has_inputs && !workers_[w].lost && poll_results(workers_[w]) && !transport_.is_lost(tasks_[w]))
      return Turn{w, true};
  }
  return std::nullopt;
}

Range TurnOrder::instructions(const Turn& turn) const {
  const Serving::Turns& turns = serving_.turns[turn.worker];
  if (!turn.take) return turns.give;
  const auto received = static_cast<std::uint32_t>(workers_[turn.worker].receives.size());
  return {turns.take[received], turns.take.count - received};
}

std::span<const Resolved> TurnOrder::received(const Turn& turn) const {
  return turn.take ? workers_[turn.worker].receives : std::span<const Resolved>();
}

void TurnOrder::done(const Turn& turn) {
  Worker& worker = workers_[turn.worker];
  worker.has_inputs = !turn.take;
  last_ = turn.worker;
  due_.reset();
  if (record_ != nullptr && !record_->replays())
    record_->add({tasks_[turn.worker], turn.take ? Kind::take : Kind::give});
  if (!turn.take) return;
  ++worker.ahead;
  worker.arrived.assign(worker.arrived.size(), false);
}

const Resolved& TurnOrder::awaited() const {
  const Worker& behind =
      due_ ? workers_[due_->worker]
           : *std::ranges::find_if(workers_, [](const Worker& worker) { return !worker.lost && worker.ahead == 0; });
  const auto missing = std::ranges::find(behind.arrived, false) - behind.arrived.begin();
  return behind.receives[std::min(static_cast<std::size_t>(missing), behind.receives.size() - 1)];
}

}  // namespace ferry

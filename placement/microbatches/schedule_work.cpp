#include "placement/microbatches/schedule_work.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "base/planned_time.hpp"
#include "placement/microbatches/folded_order.hpp"

namespace ferry {
namespace {

using Pass = PipelineWork::Pass;

/// The stages of a pipeline, and the limit of forward passes in flight on each device.
class Stages {
 public:
  Stages(std::span<const PipelineWork> work, std::uint32_t pipeline) {
    for (const PipelineWork& w : work)
      if (w.pipeline == pipeline && w.pass == Pass::forward) of_[w.device].insert(w.stage);
    std::size_t most = 0;
    for (const auto& [device, stages] : of_) {
      last_ = std::max(last_, *stages.rbegin());
      most = std::max(most, stages.size());
    }
    const auto p = static_cast<std::int64_t>(of_.size()), v = static_cast<std::int64_t>(most);
    const bool and_back = most > 1 && std::all_of(of_.begin(), of_.end(), [&](const auto& entry) {
                            return *entry.second.begin() + *entry.second.rbegin() == last_;
                          });
    folded_ = and_back && most == 2 && last_ / 2 + 1 == p;
    is_round_robin_ = !and_back && std::all_of(of_.begin(), of_.end(), [&](const auto& entry) {
      std::int64_t next = *entry.second.begin();
      for (const std::int64_t stage : entry.second)
        if (stage != std::exchange(next, next + p)) return false;
      return entry.second.size() == most;
    });
    for (const auto& [device, stages] : of_) {
      const auto here = static_cast<std::int64_t>(stages.size());
      const std::int64_t first = *stages.begin();
      const std::int64_t limit = and_back           ? here * p
                                 : !is_round_robin_ ? here * ((last_ - first + v) / v + 1)
                                 : v == 1           ? last_ + 1 - first
                                                    : 2 * (p - first - 1) + (v - 1) * p + 1;
      limit_[device] = std::max<std::int64_t>(limit, 1);
      highest_ = std::max(highest_, limit_[device]);
    }
  }

  [[nodiscard]] std::int64_t devices() const {
    return std::max<std::int64_t>(static_cast<std::int64_t>(of_.size()), 1);
  }
  /// Maximum number of forward passes on the device for which the backward pass is not done.
  [[nodiscard]] std::int64_t limit(std::uint32_t device) const {
    const auto found = limit_.find(device);
    return found == limit_.end() ? 1 : found->second;
  }
  /// The highest limit of all devices.
  [[nodiscard]] std::int64_t highest_limit() const { return highest_; }
  /// Whether each of p devices has the same number of stages, p stages apart (round-robin). There is a known order for
  /// each device then.
  [[nodiscard]] bool is_round_robin() const { return is_round_robin_; }
  /// The index of the last stage.
  [[nodiscard]] std::int64_t last() const { return last_; }
  /// Whether the stages go down the devices and back once. On the last device, the two stages may be one.
  [[nodiscard]] bool folded() const { return folded_; }
  /// Whether the device has stages of the pipeline.
  [[nodiscard]] bool has(std::uint32_t device) const { return of_.contains(device); }
  [[nodiscard]] const std::set<std::int64_t>& of(std::uint32_t device) const { return of_.at(device); }

 private:
  std::map<std::uint32_t, std::set<std::int64_t>> of_;  // for each device
  std::map<std::uint32_t, std::int64_t> limit_;
  std::int64_t last_ = 0, highest_ = 1;
  bool is_round_robin_ = true, folded_ = false;
};

class Scheduler {
  /// Smaller ranks begin first.
  using Rank = std::tuple<std::uint32_t, int, std::int64_t, std::int64_t, std::int64_t>;
  using Ranked = std::set<std::pair<Rank, std::uint32_t>>;

  /// The progress of one pipeline on one device.
  struct Progress {
    Ranked forward, backward;    ///< the work that has not begun
    Pass next = Pass::weights;   ///< the pass that ends "in flight": backward if there is any
    Pass last = Pass::backward;  ///< the pass that ends "kept": weights if there are any
    std::int64_t in_flight = 0;  ///< forward passes whose `next` pass is not done
    std::int64_t kept = 0;       ///< forward passes whose `last` pass is not done
    std::int64_t promised = 0;   ///< forward passes of later stages, for microbatches that have begun the first stage
  };

 public:
  /// `folded`: uses folded_order() for pipelines with has_folded_order().
  Scheduler(std::span<const PipelineWork> work, std::span<const PipelineSchedule> schedules, bool folded)
      : work_(work), schedules_(schedules), missing_(work.size()), users_(work.size()) {
    for (std::uint32_t p = 0; p < schedules.size(); ++p) stages_.emplace_back(work, p);
    turns_.resize(schedules.size());
    for (std::uint32_t p = 0; folded && p < schedules.size(); ++p)
      if (has_folded_order(p)) find_turns(p);
    for (std::uint32_t i = 0; i < work.size(); ++i) {
      devices_ = std::max(devices_, work[i].device + 1);
      missing_[i] = work[i].needs.size();
      for (const std::uint32_t need : work[i].needs) users_[need].push_back(i);
      if (Ranked* rest = not_begun(i)) rest->insert({rank(i), i});
      if (work[i].pass == Pass::backward) progress_of(i).next = Pass::backward;
      if (work[i].pass == Pass::weights) progress_of(i).last = Pass::weights;
    }
    ready_.resize(devices_);
    busy_.resize(devices_);
  }

  /// Whether folded_order() gives the order of the pipeline's work.
  [[nodiscard]] bool has_folded_order(std::uint32_t pipeline) const {
    return schedules_[pipeline] != PipelineSchedule::gpipe && stages_[pipeline].folded();
  }

  std::optional<std::vector<ScheduledWork>> run() {
    for (std::uint32_t i = 0; i < work_.size(); ++i)
      if (missing_[i] == 0) ready_[work_[i].device].insert({rank(i), i});
    while (order_.size() < work_.size() || !running_.empty()) {
      begin_all();
      if (running_.empty() && !begin_above_limit()) return std::nullopt;
      now_ = running_.top().first;
      while (!running_.empty() && running_.top().first == now_) {
        const std::uint32_t done = running_.top().second;
        running_.pop();
        finish(done);
      }
    }
    return order_;
  }

 private:
  void find_turns(std::uint32_t pipeline) {
    std::map<std::uint32_t, std::int64_t> microbatches;  // for each device
    for (const PipelineWork& w : work_)
      if (w.pipeline == pipeline && stages_[pipeline].has(w.device))
        microbatches[w.device] = std::max(microbatches[w.device], w.microbatch + 1);
    const Stages& stages = stages_[pipeline];
    for (const auto& [device, count] : microbatches) {
      std::int64_t turn = 0;
      for (const FoldedWork& next : folded_order(stages.devices(), *stages.of(device).begin(), count))
        turns_[pipeline][{device, next.pass, next.back, next.microbatch}] = ++turn;
    }
  }

  /// The position of the work in the known order of its device, counted from 1; 0 if no order is known.
  [[nodiscard]] std::int64_t turn(const PipelineWork& w) const {
    const auto& turns = turns_[w.pipeline];
    if (turns.empty() || !stages_[w.pipeline].has(w.device)) return 0;
    const std::int64_t stage = w.pass == Pass::forward ? w.stage : stages_[w.pipeline].last() - w.stage;
    const bool back = stage == *stages_[w.pipeline].of(w.device).rbegin();
    return turns.at({w.device, w.pass, back, w.microbatch});
  }

  /// Ranks in turn: microbatches in groups as large as the number of devices, and stage by stage within a group. If
  /// stages are not in turn, the later stage comes first, because it gives the next device its work.
  [[nodiscard]] Rank rank(std::uint32_t i) const {
    const PipelineWork& w = work_[i];
    if (const std::int64_t turn = this->turn(w); turn != 0) return {w.pipeline, 0, turn, w.stage, 0};
    const bool forward_first = schedules_[w.pipeline] == PipelineSchedule::gpipe;
    const int pass = w.pass == Pass::weights ? 2 : (w.pass == Pass::forward) == forward_first ? 0 : 1;
    if (!stages_[w.pipeline].is_round_robin()) return {w.pipeline, pass, -w.stage, w.microbatch, 0};
    const std::int64_t devices = stages_[w.pipeline].devices();
    return {w.pipeline, pass, w.microbatch / devices, w.stage, w.microbatch % devices};
  }

  Progress& progress_of(std::uint32_t i) { return progress_[{work_[i].pipeline, work_[i].device}]; }
  /// The work of the same pass and device that has not begun, or of all passes if the order is known. Null for
  /// gradients of weights if no order is known, because they have no order.
  Ranked* not_begun(std::uint32_t i) {
    Progress& progress = progress_of(i);
    if (!turns_[work_[i].pipeline].empty()) return &progress.forward;
    const Pass pass = work_[i].pass;
    return pass == Pass::forward ? &progress.forward : pass == Pass::backward ? &progress.backward : nullptr;
  }

  /// Lets each free device begin the work that is allowed.
  void begin_all() {
    for (std::uint32_t device = 0; device < devices_; ++device) {
      if (busy_[device]) continue;
      const Ranked& ready = ready_[device];
      const auto next =
          std::find_if(ready.begin(), ready.end(), [&](const auto& entry) { return may_begin(entry.second); });
      if (next != ready.end()) begin(next->second);
    }
  }

  /// Lets one device begin work that is not allowed yet; false if no device can begin anything.
  bool begin_above_limit() {
    for (const Ranked& ready : ready_)
      if (!ready.empty()) {
        begin(ready.begin()->second);
        return true;
      }
    return false;
  }

  [[nodiscard]] bool may_begin(std::uint32_t i) {
    const PipelineWork& w = work_[i];
    const Stages& stages = stages_[w.pipeline];
    if (w.pass == Pass::weights) return true;
    const Progress& progress = progress_of(i);
    if (!turns_[w.pipeline].empty()) return progress.forward.begin()->second == i;
    const bool all_forward = schedules_[w.pipeline] == PipelineSchedule::gpipe;
    if (!stages.is_round_robin() && all_forward) return w.pass == Pass::forward || progress.forward.empty();
    if (!stages.is_round_robin())
      return w.pass == Pass::backward || !is_first(w) ||
             progress.kept + progress.promised + later_stages(w) < stages.limit(w.device);
    const bool below =
        all_forward || (progress.in_flight < stages.limit(w.device) && progress.kept < stages.highest_limit());
    if (w.pass == Pass::forward) return below && progress.forward.begin()->second == i;
    return (!below || progress.forward.empty()) && progress.backward.begin()->second == i;
  }

  /// Whether the work is in the device's first stage.
  [[nodiscard]] bool is_first(const PipelineWork& w) const {
    return w.stage == *stages_[w.pipeline].of(w.device).begin();
  }
  /// The number of stages of the device after its first stage.
  [[nodiscard]] std::int64_t later_stages(const PipelineWork& w) const {
    return static_cast<std::int64_t>(stages_[w.pipeline].of(w.device).size()) - 1;
  }

  void begin(std::uint32_t i) {
    const PipelineWork& w = work_[i];
    ready_[w.device].erase({rank(i), i});
    if (Ranked* rest = not_begun(i)) rest->erase({rank(i), i});
    busy_[w.device] = true;
    order_.push_back({i, now_});
    running_.push({add_times(now_, w.time), i});
    if (w.pass != Pass::forward) return;
    Progress& progress = progress_of(i);
    ++progress.in_flight;
    ++progress.kept;
    progress.promised += is_first(w) ? later_stages(w) : -1;
  }

  void finish(std::uint32_t i) {
    const PipelineWork& w = work_[i];
    busy_[w.device] = false;
    Progress& progress = progress_of(i);
    if (w.pass == progress.next) --progress.in_flight;
    if (w.pass == progress.last) --progress.kept;
    for (const std::uint32_t user : users_[i])
      if (--missing_[user] == 0) ready_[work_[user].device].insert({rank(user), user});
  }

  std::span<const PipelineWork> work_;
  std::span<const PipelineSchedule> schedules_;
  std::vector<Stages> stages_;  // for each pipeline
  /// For each pipeline with a known order: the position of a pass of a microbatch in the order of a device.
  std::vector<std::map<std::tuple<std::uint32_t, Pass, bool, std::int64_t>, std::int64_t>> turns_;
  std::uint32_t devices_ = 0;
  std::vector<std::size_t> missing_;  // for each work item: the number of its needs that are not done
  std::vector<std::vector<std::uint32_t>> users_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Progress> progress_;  // by pipeline and device
  std::vector<Ranked> ready_;                                             // for each device
  std::vector<bool> busy_;                                                // for each device
  using Event = std::pair<std::int64_t, std::uint32_t>;  // the time when a work item is done, and the work item
  std::priority_queue<Event, std::vector<Event>, std::greater<>> running_;
  std::int64_t now_ = 0;
  std::vector<ScheduledWork> order_;
};

std::int64_t length(std::span<const PipelineWork> work, std::span<const ScheduledWork> order) {
  std::int64_t end = 0;
  for (const ScheduledWork& next : order) end = std::max(end, add_times(next.begin, work[next.work].time));
  return end;
}

}  // namespace

std::optional<std::vector<ScheduledWork>> schedule_work(std::span<const PipelineWork> work,
                                                        std::span<const PipelineSchedule> schedules) {
  Scheduler scheduler(work, schedules, false);
  auto order = scheduler.run();
  bool folded = false;
  for (std::uint32_t p = 0; p < schedules.size(); ++p) folded = folded || scheduler.has_folded_order(p);
  if (!order || !folded) return order;
  auto known = Scheduler(work, schedules, true).run();
  return length(work, *known) <= length(work, *order) ? known : order;
}

}  // namespace ferry

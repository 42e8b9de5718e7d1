// TaskSession::tune: measures the plans with buckets of several sizes.
//
// Steps are measured that leave nothing behind, rather than the first steps of the run: between hosts the size of
// buckets decides in which order sums are folded, so a run that was measured in parts would have bits that no plan
// gives. This way it has those of the plan that was chosen, from the first step on.
#include <algorithm>
#include <set>

#include "base/system/clock.hpp"
#include "executor/job/blob.hpp"
#include "executor/session/task_session.hpp"
#include "executor/session/tune.hpp"

namespace ferry {
namespace {

/// Beside what the session has: each value alone, then from a few pages to what keeps any link busy.
constexpr std::int64_t kSizes[] = {0, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26};
constexpr double kMeasuredSeconds = 0.02;
constexpr double kMostSteps = 1000;

/// Both are plans of one request: then they differ only in what shares a message, which names and sizes tell.
bool same_messages(const Plan& a, const Plan& b) {
  return std::equal(a.collectives.begin(), a.collectives.end(), b.collectives.begin(), b.collectives.end(),
                    [&](const Collective& one, const Collective& other) {
                      return a.string(one.name) == b.string(other.name) && one.parts == other.parts;
                    }) &&
         std::equal(a.channels.begin(), a.channels.end(), b.channels.begin(), b.channels.end(),
                    [&](const Channel& one, const Channel& other) {
                      return a.string(one.name) == b.string(other.name) && one.bytes == other.bytes;
                    });
}

/// The variables that a step of the task writes.
std::vector<std::string> written_variables(const Plan& plan, int task) {
  const PlanClass& c = plan.class_for(task);
  std::set<std::uint32_t> written;
  for (const Instruction& i : c.instructions)
    for (std::uint32_t k = 0; k < i.outputs.count; ++k) written.insert(storage_of(c, c.operands[i.outputs.begin + k]));
  std::vector<std::string> names;
  for (const PlanVariable& variable : c.variables)
    if (written.contains(variable.buffer)) names.emplace_back(plan.string(variable.name));
  return names;
}

}  // namespace

std::size_t best_size(std::span<const Tuned::Size> sizes) {
  constexpr double kGain = 0.98;
  std::size_t best = 0;
  for (std::size_t i = 1; i < sizes.size(); ++i)
    if (sizes[i].seconds < sizes[best].seconds) best = i;
  return sizes[best].seconds < kGain * sizes[0].seconds ? best : 0;
}

Tuned TaskSession::tune(const Graph& graph, const RunRequest& request, const TuneOptions& options) {
  const Agreed agreed = agree_on(graph, request);
  initialise(graph, agreed.signature, 0);
  const Candidates plans = candidates(graph, agreed);
  Tuned tuned;
  for (const auto& planned : plans) tuned.sizes.push_back({planned->result.plan.bucket_bytes, 0});
  if (plans.size() > 1) measure_all(plans, agreed, request.feeds, options, tuned.sizes);
  tuned.chosen = best_size(tuned.sizes);
  bucket_bytes_ = tuned.sizes[tuned.chosen].bucket_bytes;
  plans_.keep(bucket_bytes_);
  std::erase_if(prepared_,
                [&](const auto& entry) { return entry.first.second != bucket_bytes_ && &entry.second != last_; });
  return tuned;
}

void TaskSession::measure_all(const Candidates& plans, const Agreed& agreed, const TensorMap& feeds,
                              const TuneOptions& options, std::span<Tuned::Size> sizes) {
  Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
  const auto seconds = [&](std::size_t i, std::int64_t steps) {
    return measure(*plans[i], agreed, feeds, steps, clock) / static_cast<double>(steps);
  };
  std::int64_t steps = options.steps;
  if (steps == 0) {
    const double fit = kMeasuredSeconds / std::max(seconds(0, 1), kMeasuredSeconds / kMostSteps);
    steps = std::max<std::int64_t>(static_cast<std::int64_t>(of_first(fit)), 1);
  }
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const double now = seconds(i, steps);
      sizes[i].seconds = round == 0 ? now : std::min(sizes[i].seconds, now);
    }
  for (Tuned::Size& size : sizes) size.seconds = of_first(size.seconds);
}

TaskSession::Candidates TaskSession::candidates(const Graph& graph, const Agreed& agreed) {
  std::vector<BucketBytes> sizes{bucket_bytes_};
  sizes.insert(sizes.end(), std::begin(kSizes), std::end(kSizes));
  Candidates found;
  for (const BucketBytes& size : sizes) {
    auto planned = plans_.get(key_of(graph, agreed), graph, agreed.signature, size);
    const bool known = std::any_of(found.begin(), found.end(), [&](const auto& other) {
      return same_messages(planned->result.plan, other->result.plan);
    });
    if (known) continue;
    together([&] { compare_fingerprints(*planned); });
    found.push_back(std::move(planned));
  }
  return found;
}

double TaskSession::measure(const PlanCache::Planned& planned, const Agreed& agreed, const TensorMap& feeds,
                            std::int64_t steps, Clock& clock) {
  const Plan& plan = planned.result.plan;
  return guarded([&] {
    static_cast<void>(variables_.bind(planned.variables(), transport_, deadline()));
    const VariableStore::Bytes before = variables_.copy(written_variables(plan, task_));
    measured_ = executor_for(planned, true);
    const std::vector<Tensor> given = given_feeds(plan, feeds);
    std::vector<Tensor> fetched(plan.fetches.size());
    const std::int64_t next = next_step_[agreed.request];
    TimePoint start;
    for (std::int64_t i = 0; i <= steps; ++i) {
      measured_->step(next + i, given, fetched);
      if (i > 0 && i < steps) continue;
      static_cast<void>(transport_.exchange("", deadline()));
      if (task_ == 0 && i == 0) start = clock.now();
    }
    const double taken = task_ == 0 ? std::chrono::duration<double>(clock.now() - start).count() : 0;
    variables_.put_back(before);
    measured_.reset();
    return taken;
  });
}

double TaskSession::of_first(double number) {
  return guarded([&] {
    const std::string theirs = transport_.exchange(BlobWriter().add(number).take(), deadline())[0];
    return BlobReader(theirs).real();
  });
}

}  // namespace ferry

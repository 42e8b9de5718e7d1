// The exchange of control messages at the begin of a run. All tasks agree on fetches, targets and feeds, so that all
// make the same plan, even if only one of them has a feed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "executor/job/job_member.hpp"
#include "executor/session/fed_parts.hpp"
#include "executor/session/session_types.hpp"
#include "graph/types/batches.hpp"
#include "plan/signature.hpp"
#include "plan/topology/topology.hpp"

namespace ferry {

struct Agreed {
  Signature signature;
  std::int64_t steps = 1;
  std::string request;  ///< fetches and targets as text: equal requests share a step counter
  PartRows part_rows;   ///< of the inputs that are fed by parts
  std::string key;      ///< request, and the giver and sizes of each feed: equal keys share a plan
  /// uneven_batches(), which agree() leaves empty. The members above belong to steps with whole batches.
  std::vector<Batches> uneven = {};

  /// The same request for the steps with batches of the same sizes as in step `step`.
  [[nodiscard]] Agreed at(std::int64_t step) const;
  /// The first step after `step` with batches of other sizes, but at most `end`.
  [[nodiscard]] std::int64_t next_change(std::int64_t step, std::int64_t end) const;
  /// The first step with whole batches only, from `step` on.
  [[nodiscard]] std::int64_t first_whole(std::int64_t step) const;
};

/// The run's batches that are smaller at the end of an epoch.
[[nodiscard]] std::vector<Batches> uneven_batches(const Graph& graph, const Signature& signature);

/// Agreed::request of a request with defined fetches and targets.
[[nodiscard]] std::string request_text(const RunRequest& request);

/// Called by every task. `gives`: whether this task gives the request's feeds. Error(usage), the same on all tasks, if
/// a task's feeds or fetches are wrong or differ from another task's; nothing has been started then.
[[nodiscard]] Agreed agree(const Graph& graph, const RunRequest& request, bool gives, const JobMember& member);

/// Like agree(), but without messages: one call is for all tasks of the job. `all_give`: every task gives the request's
/// feeds; otherwise only task 0 does.
[[nodiscard]] Agreed agree_alone(const Graph& graph, const RunRequest& request, bool all_give,
                                 const Topology& topology);

/// Error(usage) at the input's line if a fed bool is neither 0 nor 1.
void require_bools(const std::string& name, const Tensor& fed, const SourceLine& line);

/// Error(usage), the same on all tasks, if `task` runs another number of steps than task 0.
void require_same_steps(std::int64_t first, std::int64_t other, std::size_t task);

/// The tasks that give each feed, ascending, by the feed's name.
using FeedGivers = std::map<std::string, std::vector<std::int32_t>>;

/// Called by every task, with the same `givers`. Error(usage), the same on all tasks, when tasks of several processes
/// give the same feed and its bytes differ: only one task's bytes are used, so the others would be lost. If no feed is
/// given by several processes, nothing is exchanged; otherwise each giver sends a hash of 8 bytes for each such feed.
/// `line_of` gives the user's line of an input.
void require_same_feeds(const FeedGivers& givers, const FeedMap& feeds, const JobMember& member,
                        const std::function<SourceLine(const std::string& name)>& line_of);

}  // namespace ferry

// Inputs that are fed by parts: each task gives rows, and a plan needs them split evenly over the tasks of a mesh.
//
// Example: tasks 0, 1 and 2 give 5, 0 and 1 rows, and a plan splits the 6 rows over the three tasks. The session moves
// rows 2 and 3 from task 0 to task 1, and row 4 to task 2.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "executor/job/job_member.hpp"
#include "executor/session/session_types.hpp"
#include "plan/plan.hpp"

namespace ferry {

inline constexpr std::int64_t kNoPart = -1;

/// By the name of an input that is fed by parts: the number of rows that each task of the job gives, or kNoPart.
using PartRows = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// The feeds of a run, and the numbers of rows that all tasks give for feeds by parts.
struct RunFeeds {
  const FeedMap& feeds;
  const PartRows& rows;
};

/// The number of rows that all tasks give together.
[[nodiscard]] std::int64_t rows_in(const std::vector<std::int64_t>& rows);

/// Returns a text for each input that is fed by parts, by the input's name. The texts of two runs are equal if the runs
/// are fed the same rows, no matter which task gives which rows. All tasks call it.
[[nodiscard]] std::map<std::string, std::string> texts_of_parts(const FeedMap& feeds, const JobMember& member);

/// Error(usage), the same on all tasks, if the plan needs a part of an input from a task and the task gives none.
/// `line_of` gives the user's line of an input.
void require_parts(const Plan& plan, const PartRows& rows,
                   const std::function<SourceLine(const std::string& name)>& line_of);

/// Returns a tensor for each of the plan's feeds: the tensor that this task gives, or undefined if the plan takes
/// nothing from this task. All tasks call it: rows that the plan needs on other tasks are sent to all tasks.
[[nodiscard]] std::vector<Tensor> given_feeds(const Plan& plan, const RunFeeds& run, const JobMember& member);

}  // namespace ferry

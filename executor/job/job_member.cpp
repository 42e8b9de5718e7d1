#include "executor/job/job_member.hpp"

#include <algorithm>

#include "base/blob.hpp"

namespace ferry {

std::size_t JobMember::local_index() const {
  return static_cast<std::size_t>(std::ranges::find(cluster_.local_tasks, task_) - cluster_.local_tasks.begin());
}

void JobMember::spare(std::span<const int> tasks) {
  if (!cluster_.watch) return;
  JobMembership* const membership = transport_.membership();
  cluster_.watch->spare(membership != nullptr ? tasks : std::span<const int>());
  if (membership != nullptr) membership->spare(tasks, *cluster_.watch, deadline());
}

double JobMember::of_first(double number) {
  return guarded([&] {
    const std::string theirs = exchange(BlobWriter().add(number).take())[0];
    return BlobReader(theirs).real();
  });
}

std::vector<std::string> JobMember::agree_on_problem(const std::string& problem, Code code,
                                                     const std::string& tells) const {
  std::vector<std::string> told;
  for (const std::string& said : exchange(BlobWriter().add(static_cast<int>(code)).add(problem).add(tells).take())) {
    std::string& of_task = told.emplace_back();
    if (said.empty()) continue;
    BlobReader reader(said);
    const auto code_of_task = static_cast<Code>(reader.number());
    if (const std::string text(reader.text()); !text.empty()) throw cluster_.found_by_all(Error(code_of_task, text));
    of_task = reader.text();
  }
  return told;
}

Error JobMember::out_of_memory() {
  Error error = Error(Code::resource, "out of memory on task {}", task_)
                    .hint("fewer --tasks or --threads, or a higher limit (ulimit -v)");
  abort_job(error);
  return error;
}

Error JobMember::explained(const Error& error) {
  if (!cluster_.watch) return error;
  const std::optional<Failure> failure = transport_.failure();
  const Error why = cluster_.watch->explained(error, task_, failure);
  if (why.is_told_elsewhere() && !failure)
    abort_job(why);  // else the other tasks would take this task's exit for the cause
  return why;
}

/// Aborts the job. If there is a verdict, the abort is in the name of the task that prints the verdict.
void JobMember::abort_job(const Error& error) {
  failed_ = true;
  const int teller = cluster_.watch ? cluster_.watch->teller().value_or(task_) : task_;
  transport_.abort({teller, error.code(), error.text(), true});
}

}  // namespace ferry

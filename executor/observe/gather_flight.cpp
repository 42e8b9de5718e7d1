#include "executor/observe/gather_flight.hpp"

#include "base/system/log.hpp"
#include "base/system/machine.hpp"
#include "executor/observe/flight_file.hpp"
#include "executor/watch/watch.hpp"

namespace ferry {
namespace {

/// The time to gather all records, and the time to wait for the process that gathers them. A launcher gives a failed
/// job two seconds.
constexpr std::chrono::milliseconds kGatherTimeout{1000}, kWaitTimeout{1500};

/// A task that has been outside of the session for at least this time was already outside before the job failed.
constexpr std::chrono::seconds kBefore{2};

/// A task's state; empty if the task has returned from its run, as all tasks do after a failure.
std::string state_text(const TaskStatus& task) {
  if (task.state == ProcessState::gone) return "is gone";
  if (task.state == ProcessState::stopped) return "is stopped";
  const bool back = task.pulse.doing == Pulse::Doing::inside ||
                    (task.pulse.doing == Pulse::Doing::outside && task.pulse.age < kBefore);
  return back ? "" : doing_text(task);
}

std::vector<FlightFile::Event> events_of(const FlightRecord& record) {
  std::vector<FlightFile::Event> events;
  for (const FlightEvent& event : record)
    events.push_back({std::chrono::duration<double>(event.age).count(), event.thread, event.text});
  return events;
}

std::vector<FlightFile::Task> gather_tasks(Watch& watch) {
  std::vector<FlightFile::Task> tasks;
  const std::vector<FlightRecord> records = watch.flights().gather(watch.answering(), kGatherTimeout);
  for (const TaskStatus& task : watch.statuses())
    tasks.push_back({who(task), state_text(task), events_of(records[task.pulse.task])});
  return tasks;
}

}  // namespace

void write_flight(const std::string& file, const Error& error, Watch* watch,
                  const std::map<int, FlightRecord>& own) try {
  const bool gathers = watch == nullptr || watch->gathers();
  // Another process may have gathered all records, and exited, before this process failed.
  if (watch != nullptr && watch->flights().await_end(gathers ? Duration::zero() : kWaitTimeout)) return;
  if (!gathers) return;
  FlightFile flight{.error = error.what(), .time = static_cast<std::int64_t>(wall_seconds()), .tasks = {}};
  flight.tasks = watch != nullptr ? gather_tasks(*watch) : std::vector<FlightFile::Task>{{"task 0", "", {}}};
  for (const auto& [task, record] : own) flight.tasks[task].events = events_of(record);
  write_flight_file(local_files(), file, flight);
  if (watch != nullptr) watch->flights().end();
} catch (const std::exception& problem) {
  log_warn("what the tasks did last is not written: " + std::string(problem.what()));
}

}  // namespace ferry

// Gathers the last instructions of all tasks of a failed job, and writes them to a file.
#pragma once

#include <map>
#include <string>

#include "base/error.hpp"
#include "executor/watch/flight_record.hpp"

namespace ferry {

class Watch;

/// Called by all processes of a job that has failed with `error`. `own` has the records of this process's tasks.
/// `watch` is null in a job of one task. The first live process gathers the records of all processes and writes `file`;
/// the others wait for it, for at most 1.5 seconds. Errors are logged.
void write_flight(const std::string& file, const Error& error, Watch* watch, const std::map<int, FlightRecord>& own);

}  // namespace ferry

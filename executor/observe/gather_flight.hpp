// Gathers what all tasks of a failed job did last, and writes it.
#pragma once

#include <map>
#include <string>

#include "base/error.hpp"
#include "executor/watch/flight_record.hpp"

namespace ferry {

class Watch;

/// Called by all processes of a job that has failed with `error`; `own` has what the tasks of this one did last,
/// `watch` is null in a job of one task. The first live process gathers the records of all processes and writes `file`;
/// the others wait for it, for at most 1.5 seconds. What goes wrong is logged.
void write_flight(const std::string& file, const Error& error, Watch* watch, const std::map<int, FlightRecord>& own);

}  // namespace ferry

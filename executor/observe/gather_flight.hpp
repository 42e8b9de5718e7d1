// Gathers what all tasks of a failed job did last, and writes it.
#pragma once

#include <map>
#include <string>

#include "base/error.hpp"
#include "executor/watch/flight_record.hpp"

namespace ferry {

class Watch;

/// Called by all processes of a job that has failed with `error`; `own` has what the tasks of this one did last,
/// `watch` is null in a job of one task. The first process that goes on gathers the records of all and writes `file`;
/// the others wait until it has, for a second and a half at most. What goes wrong is logged.
void write_flight(const std::string& file, const Error& error, Watch* watch, const std::map<int, FlightRecord>& own);

}  // namespace ferry

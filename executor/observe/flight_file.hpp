// FlightFile: what each task of a failed job did last, as a file in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files/files.hpp"

#pragma GCC visibility push(default)
namespace ferry {

struct FlightFile {
  struct Event {
    double age = 0;  ///< seconds from when it began until the tasks were asked
    int thread = 0;  ///< of the task
    std::string what;
  };
  struct Task {
    std::string who;            ///< "task 1 (host b, process 4711)"
    std::string state;          ///< when it was asked: "is gone", "computes MatMul …, for 3 s"; "" if it had failed
    std::vector<Event> events;  ///< ascending by time
  };
  std::string error;
  std::int64_t time = 0;  ///< when it was written, seconds since 1970
  std::vector<Task> tasks;
};

/// Errors as FileSystem::write.
void write_flight_file(FileSystem& files, const std::string& path, const FlightFile& flight);
/// Error(file) unless it can be read and is such a file.
[[nodiscard]] FlightFile read_flight_file(FileSystem& files, const std::string& path);

}  // namespace ferry
#pragma GCC visibility pop

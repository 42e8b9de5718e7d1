// FlightFile: the last instructions of each task of a failed job, as a JSON file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files/files.hpp"

#pragma GCC visibility push(default)
namespace ferry {

struct FlightFile {
  struct Event {
    double age = 0;  ///< seconds from the event until the records were gathered
    int thread = 0;  ///< thread of the task
    std::string what;
  };
  struct Task {
    std::string who;            ///< "task 1 (host b, process 4711)"
    std::string state;          ///< when gathered: "is gone", "computes MatMul …, for 3 s"; "" if it had failed
    std::vector<Event> events;  ///< ascending by time
  };
  std::string error;
  std::int64_t time = 0;  ///< when it was written, seconds since 1970
  std::vector<Task> tasks;
};

/// Errors as FileSystem::write.
void write_flight_file(FileSystem& files, const std::string& path, const FlightFile& flight);
/// Error(file) if the file cannot be read or is no flight file.
[[nodiscard]] FlightFile read_flight_file(FileSystem& files, const std::string& path);

}  // namespace ferry
#pragma GCC visibility pop

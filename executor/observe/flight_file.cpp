#include "executor/observe/flight_file.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files/json.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

}  // namespace

void write_flight_file(FileSystem& files, const std::string& path, const FlightFile& flight) {
  Json tasks = Json::array();
  for (const FlightFile::Task& task : flight.tasks) {
    Json events = Json::array();
    for (const FlightFile::Event& event : task.events)
      events.push_back({{"age", event.age}, {"thread", event.thread}, {"what", event.what}});
    tasks.push_back({{"who", task.who}, {"state", task.state}, {"events", std::move(events)}});
  }
  const Json json{{"ferry", FERRY_VERSION}, {"error", flight.error}, {"time", flight.time}, {"tasks", tasks}};
  files.write(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

FlightFile read_flight_file(FileSystem& files, const std::string& path) try {
  FlightFile flight;
  const Json json = Json::parse(json_text(files.read(path, kMostBytes).text()));
  json.at("error").get_to(flight.error);
  json.at("time").get_to(flight.time);
  for (const Json& task : json.at("tasks")) {
    FlightFile::Task& one = flight.tasks.emplace_back();
    task.at("who").get_to(one.who);
    task.at("state").get_to(one.state);
    for (const Json& event : task.at("events"))
      one.events.push_back(
          {event.at("age").get<double>(), event.at("thread").get<int>(), event.at("what").get<std::string>()});
  }
  return flight;
} catch (const Json::exception&) {
  throw Error(Code::file, "{}: it is no file of --flight-recorder", path);
}

}  // namespace ferry

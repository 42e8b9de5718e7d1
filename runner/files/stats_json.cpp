#include "runner/files/stats_json.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

void add_traffic(Json& json, const Traffic& traffic, std::uint64_t peak_bytes) {
  json["sent_messages"] = traffic.sent_messages;
  json["sent_bytes"] = traffic.sent_bytes;
  json["received_messages"] = traffic.received_messages;
  json["received_bytes"] = traffic.received_bytes;
  json["copies"] = traffic.copies;
  json["collective_bytes"] = traffic.collective_bytes;
  json["peak_bytes"] = peak_bytes;
}

void add_work(Json& json, const DeviceWork& work, std::uint64_t peak_bytes) {
  json["launches"] = work.launches;
  json["copies_in"] = work.copies_in;
  json["bytes_in"] = work.bytes_in;
  json["copies_out"] = work.copies_out;
  json["bytes_out"] = work.bytes_out;
  json["copies_within"] = work.copies_within;
  json["bytes_within"] = work.bytes_within;
  json["collectives"] = work.collectives;
  json["replays"] = work.replays;
  json["peak_bytes"] = peak_bytes;
}

Json device_json(const DeviceStats& device) {
  Json json;
  json["device"] = device.device;
  add_work(json, device.measured, device.peak_bytes);
  Json planned;
  add_work(planned, device.planned, device.planned_peak_bytes);
  json["planned"] = std::move(planned);
  return json;
}

Json task_json(const TaskStats& task) {
  Json json;
  json["task"] = task.task;
  json["process"] = task.process;
  json["host"] = task.host;
  json["threads"] = task.threads;
  add_traffic(json, task.measured, task.peak_bytes);
  json["wire_messages"] = task.wire_messages;
  json["wire_bytes"] = task.wire_bytes;
  json["computing_seconds"] = task.computing_seconds;
  json["waiting_seconds"] = task.waiting_seconds;
  Json planned;
  add_traffic(planned, task.planned, task.planned_peak_bytes);
  json["planned"] = std::move(planned);
  json["devices"] = Json::array();
  for (const DeviceStats& device : task.devices) json["devices"].push_back(device_json(device));
  return json;
}

Json straggler_json(const Straggler& straggler) {
  Json json;
  json["task"] = straggler.task;
  json["cause"] = name_of(straggler.cause);
  json["op"] = straggler.op;
  json["slowdown"] = straggler.slowdown;
  json["core"] = straggler.core;
  json["cost"] = straggler.cost;
  return json;
}

Json slow_link_json(const SlowLink& link) {
  Json json;
  json["from"] = link.from;
  json["to"] = link.to;
  json["bytes_per_second"] = link.rate;
  json["usual"] = link.usual;
  json["cost"] = link.cost;
  return json;
}

}  // namespace

std::string stats_json(const RunStats& stats) {
  char fingerprint[17];
  std::snprintf(fingerprint, sizeof fingerprint, "%016llx", static_cast<unsigned long long>(stats.fingerprint));
  Json json;
  json["world"] = stats.tasks.size();
  json["fingerprint"] = fingerprint;
  json["steps"] = stats.steps;
  json["step_seconds"] = {{"min", stats.min_seconds}, {"median", stats.median_seconds}, {"max", stats.max_seconds}};
  json["tasks"] = Json::array();
  for (const TaskStats& task : stats.tasks) json["tasks"].push_back(task_json(task));
  json["stragglers"] = Json::array();
  for (const Straggler& straggler : stats.stragglers) json["stragglers"].push_back(straggler_json(straggler));
  json["slow_links"] = Json::array();
  for (const SlowLink& link : stats.slow_links) json["slow_links"].push_back(slow_link_json(link));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ferry

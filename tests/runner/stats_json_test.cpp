#include "runner/files/stats_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace ferry {
namespace {

TEST_CASE("the counters of --stats have the documented names") {
  RunStats stats;
  stats.fingerprint = 0xabc;
  stats.steps = 5;
  stats.median_seconds = 0.25;
  TaskStats task;
  task.task = 1;
  task.process = 3;
  task.host = "node";
  task.threads = 2;
  task.measured = {.sent_messages = 3, .sent_bytes = 36, .received_messages = 1, .received_bytes = 4, .copies = 2};
  task.planned = task.measured;
  task.peak_bytes = 100;
  task.planned_peak_bytes = 128;
  task.wire_messages = 4;
  task.computing_seconds = 0.125;
  task.waiting_seconds = 0.25;
  DeviceStats gpu{.device = "gpu:1", .measured = {}, .planned = {}, .peak_bytes = 64, .planned_peak_bytes = 96};
  gpu.measured = {.launches = 5,
                  .copies_in = 1,
                  .bytes_in = 40,
                  .copies_out = 2,
                  .bytes_out = 48,
                  .copies_within = 3,
                  .bytes_within = 56,
                  .collectives = 6};
  gpu.planned = gpu.measured;
  gpu.planned.replays = 7;
  task.devices = {gpu};
  stats.tasks = {TaskStats(), task};
  stats.stragglers = {{.task = 1,
                       .cause = Straggler::Cause::starved,
                       .op = "MatMul at a.cpp:1",
                       .slowdown = 0.5,
                       .core = 0.75,
                       .cost = 0.25}};
  stats.slow_links = {{.from = 1, .to = 2, .rate = 1e6, .usual = 9.5e7, .cost = 0.5}};
  const auto json = nlohmann::json::parse(stats_json(stats));
  CHECK(json["world"] == 2);
  CHECK(json["fingerprint"] == "0000000000000abc");
  CHECK(json["steps"] == 5);
  CHECK(json["step_seconds"]["median"] == 0.25);
  const auto& t = json["tasks"][1];
  CHECK(t["task"] == 1);
  CHECK(t["process"] == 3);
  CHECK(t["host"] == "node");
  CHECK(t["threads"] == 2);
  for (const auto* counters : {&t, &t["planned"]}) {
    CHECK((*counters)["sent_messages"] == 3);
    CHECK((*counters)["sent_bytes"] == 36);
    CHECK((*counters)["received_messages"] == 1);
    CHECK((*counters)["received_bytes"] == 4);
    CHECK((*counters)["copies"] == 2);
  }
  CHECK(t["peak_bytes"] == 100);
  CHECK(t["planned"]["peak_bytes"] == 128);
  CHECK(t["wire_messages"] == 4);
  CHECK(t["computing_seconds"] == 0.125);
  CHECK(t["waiting_seconds"] == 0.25);
  CHECK(json["tasks"][0]["devices"].empty());
  const auto& device = t["devices"][0];
  CHECK(device["device"] == "gpu:1");
  for (const auto* counters : {&device, &device["planned"]}) {
    CHECK((*counters)["launches"] == 5);
    CHECK((*counters)["copies_in"] == 1);
    CHECK((*counters)["bytes_in"] == 40);
    CHECK((*counters)["copies_out"] == 2);
    CHECK((*counters)["bytes_out"] == 48);
    CHECK((*counters)["copies_within"] == 3);
    CHECK((*counters)["bytes_within"] == 56);
    CHECK((*counters)["collectives"] == 6);
  }
  CHECK(device["replays"] == 0);
  CHECK(device["planned"]["replays"] == 7);
  CHECK(device["peak_bytes"] == 64);
  CHECK(device["planned"]["peak_bytes"] == 96);
  const auto& straggler = json["stragglers"][0];
  CHECK(straggler["task"] == 1);
  CHECK(straggler["cause"] == "starved");
  CHECK(straggler["op"] == "MatMul at a.cpp:1");
  CHECK(straggler["slowdown"] == 0.5);
  CHECK(straggler["core"] == 0.75);
  CHECK(straggler["cost"] == 0.25);
  const auto& link = json["slow_links"][0];
  CHECK(link["from"] == 1);
  CHECK(link["to"] == 2);
  CHECK(link["bytes_per_second"] == 1e6);
  CHECK(link["usual"] == 9.5e7);
  CHECK(link["cost"] == 0.5);
}

}  // namespace
}  // namespace ferry

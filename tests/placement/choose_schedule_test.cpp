// Which algorithm a collective gets, by its size and by where its members are.
#include "placement/messages/choose_schedule.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/support/collective_kinds.hpp"

namespace ferry {
namespace {

std::string chosen(CollectiveKind kind, const std::vector<std::int32_t>& hosts, std::int64_t bytes) {
  return choose_schedule({.kind = kind, .hosts = hosts, .bytes = bytes}, Topology()).algorithm;
}

TEST_CASE("the algorithm is chosen by size and hosts") {
  const std::vector<std::int32_t> one(8, 0), each{0, 1, 2, 3, 4, 5, 6, 7}, pairs{0, 0, 1, 1, 2, 2, 3, 3},
      uneven_hosts{0, 0, 0, 1, 1, 2, 2, 2};
  for (const CollectiveKind kind : test::kCollectiveKinds) CHECK(chosen(kind, one, 1 << 24) == "direct");
  CHECK(chosen(CollectiveKind::all_reduce, each, 64) == "doubling");
  CHECK(chosen(CollectiveKind::all_reduce, each, 1 << 24) == "direct");
  CHECK(chosen(CollectiveKind::all_reduce, pairs, 1 << 24) == "hierarchical");
  CHECK(chosen(CollectiveKind::all_reduce, uneven_hosts, 1 << 24) == "ring");
  CHECK(chosen(CollectiveKind::all_gather, pairs, 1 << 24) == "ring");
  CHECK(chosen(CollectiveKind::broadcast, each, 1 << 20) == "tree");
  CHECK(chosen(CollectiveKind::broadcast, pairs, 1 << 20) == "hierarchical");
  CHECK(chosen(CollectiveKind::reduce, each, 64) == "tree");
  CHECK(chosen(CollectiveKind::all_to_all, each, 64) == "direct");
}

TEST_CASE("of many members on one host the number of messages decides") {
  const std::vector<std::int32_t> few(64, 0), many(65, 0), thousand(1024, 0);
  for (const CollectiveKind kind : test::kCollectiveKinds)
    CHECK(chosen(kind, few, 64) == (kind == CollectiveKind::all_reduce ? "one-shot" : "direct"));
  for (const auto& hosts : {many, thousand}) {
    CHECK(chosen(CollectiveKind::all_reduce, hosts, 64) == "doubling");
    CHECK(chosen(CollectiveKind::all_reduce, hosts, 1 << 24) == "direct");
    CHECK(chosen(CollectiveKind::broadcast, hosts, 64) == "tree");
    CHECK(chosen(CollectiveKind::reduce, hosts, 64) == "tree");
    CHECK(chosen(CollectiveKind::all_gather, hosts, 64) == "direct");
  }
}

TEST_CASE("schedules whose steps grow with the square of the members are for up to a thousand") {
  const auto hosts_of = [](int members, int hosts) {
    std::vector<std::int32_t> of(static_cast<std::size_t>(members));
    for (int m = 0; m < members; ++m) of[m] = m / (members / hosts);
    return of;
  };
  CHECK(chosen(CollectiveKind::all_reduce, hosts_of(512, 16), 1 << 24) == "hierarchical");
  CHECK(chosen(CollectiveKind::all_reduce, hosts_of(2048, 32), 1 << 24) == "ring");
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::broadcast,
                                    CollectiveKind::reduce, CollectiveKind::reduce_scatter}) {
    const std::vector<std::int32_t> hosts = hosts_of(65536, 1024);
    for (const std::int64_t bytes : {64, 1 << 24}) {
      const Schedule schedule = choose_schedule({.kind = kind, .hosts = hosts, .bytes = bytes}, Topology());
      CAPTURE(name_of(kind));
      CAPTURE(schedule.algorithm);
      CHECK(schedule.steps.size() <= 8 * hosts.size());
    }
  }
}

TEST_CASE("members that share memory put what they give to a one-shot all-reduce, and get it from a direct one") {
  CHECK(ordered_all_reduce(2, 4, true).via == Via::put);
  CHECK(ordered_all_reduce(2, 1 << 20, true).via == Via::get);
  CHECK(ordered_all_reduce(2, 1 << 20, false).via == Via::messages);
  for (const std::int64_t bytes : {4, 1 << 20})
    CHECK(staging_bytes(ordered_all_reduce(2, bytes, true), std::vector<std::int64_t>{1, 1}, DType::float32, 0) == 0);
  const std::vector<std::int32_t> one_host(4, 0), two_hosts{0, 0, 1, 1};
  const auto via = [](CollectiveKind kind, const std::vector<std::int32_t>& hosts) {
    return choose_schedule({.kind = kind, .hosts = hosts, .bytes = 1 << 20, .share_memory = true}, Topology()).via;
  };
  CHECK(via(CollectiveKind::all_reduce, one_host) == Via::get);
  CHECK(via(CollectiveKind::all_gather, one_host) == Via::messages);
  CHECK(via(CollectiveKind::all_reduce, two_hosts) == Via::messages);
}

TEST_CASE("an all-reduce that GPUs fold is one-shot up to where a second call of their library costs less") {
  Topology topology;
  topology.gpus_on_host = {20e-6, 200e9};
  topology.gpus_between_hosts = {20e-6, 50e9};
  std::vector<std::int32_t> hosts(8, 0);
  const auto chosen = [&](CollectiveKind kind, std::size_t members, std::int64_t bytes) {
    const Schedule schedule =
        choose_folded({.kind = kind, .hosts = std::span(hosts).first(members), .bytes = bytes}, topology);
    CHECK(schedule.via == Via::library);
    return schedule.algorithm;
  };
  for (const std::int64_t bytes : {4, 1 << 30}) CHECK(chosen(CollectiveKind::all_reduce, 2, bytes) == "one-shot");
  CHECK(chosen(CollectiveKind::all_reduce, 8, 761'000) == "one-shot");  // C W n / ((n-1) (n-2)) bytes
  CHECK(chosen(CollectiveKind::all_reduce, 8, 763'000) == "direct");
  CHECK(chosen(CollectiveKind::reduce_scatter, 8, 4) == "direct");
  CHECK(chosen(CollectiveKind::reduce, 8, 4) == "direct");
  hosts.back() = 1;
  CHECK(chosen(CollectiveKind::all_reduce, 8, 190'000) == "one-shot");
  CHECK(chosen(CollectiveKind::all_reduce, 8, 191'000) == "direct");
}

}  // namespace
}  // namespace ferry

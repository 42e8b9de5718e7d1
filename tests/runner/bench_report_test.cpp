#include "runner/command/bench_report.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace ferry {
namespace {

using bench::Benchmark;
using bench::Figure;

const Benchmark kHop{"hop.4B", "us", Benchmark::Better::lower, "raw MPI", {}};
const Benchmark kTrain{"train", "steps/s", Benchmark::Better::higher, "", {}};

TEST_CASE("a figure has its own part, unit and peer, or else its benchmark's") {
  const BenchLine hop(kHop, Figure{.ferry = 0.1, .peer_value = 0.4});
  CHECK(text_line(hop) == "hop.4B                          0.1 us              0.4 us       ratio 0.250  (raw MPI)\n");
  CHECK(json_line(hop) == R"({"name":"hop.4B","unit":"us","ferry":0.1,"peer":"raw MPI","peer_value":0.4,"ratio":0.25,)"
                          R"("better":"lower","pairs":[]})"
                          "\n");
  const BenchLine best(kHop,
                       Figure{.part = "best", .ferry = 1, .peer_value = 2, .ratio = 0.6, .unit = "s", .peer = "x"});
  CHECK(text_line(best) == "hop.4B.best                       1 s                 2 s        ratio 0.600  (x)\n");
  const BenchLine alone(kTrain, Figure{.ferry = 300});
  CHECK(text_line(alone) == "train                           300 steps/s\n");
  CHECK(nlohmann::json::parse(json_line(alone))["peer"].is_null());
}

TEST_CASE("JSON has all pairs of a figure") {
  const BenchLine hop(kHop, Figure{.ferry = 2, .peer_value = 4, .pairs = {{1, 4}, {3, 4}, {2, 8}}});
  CHECK(nlohmann::json::parse(json_line(hop))["pairs"].dump() == "[[1.0,4.0],[3.0,4.0],[2.0,8.0]]");
}

TEST_CASE("JSON names a benchmark that has no figures, with the reason") {
  CHECK(json_line("gpu", "skipped", "no GPU: \"\xff\"") ==
        "{\"name\":\"gpu\",\"skipped\":\"no GPU: \\\"\uFFFD\\\"\"}\n");
}

TEST_CASE("skipped benchmarks are one line for each reason, with the members of a family joined") {
  CHECK(skipped_lines({}).empty());
  CHECK(
      skipped_lines(
          {{"hop.4B", "no programs"}, {"hop.64KB", "no programs"}, {"gpu.add", "no GPU"}, {"boost", "no programs"}}) ==
      "skipped: hop.{4B,64KB}, boost: no programs\nskipped: gpu.add: no GPU\n");
}

}  // namespace
}  // namespace ferry

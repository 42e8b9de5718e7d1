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
                          R"("better":"lower"})"
                          "\n");
  const BenchLine best(kHop,
                       Figure{.part = "best", .ferry = 1, .peer_value = 2, .ratio = 0.6, .unit = "s", .peer = "x"});
  CHECK(text_line(best) == "hop.4B.best                       1 s                 2 s        ratio 0.600  (x)\n");
  const BenchLine alone(kTrain, Figure{.ferry = 300});
  CHECK(text_line(alone) == "train                           300 steps/s\n");
  CHECK(nlohmann::json::parse(json_line(alone))["peer"].is_null());
}

TEST_CASE("speed is how many times as fast ferry is, whichever way is better") {
  CHECK(BenchLine(kHop, Figure{.ferry = 1, .peer_value = 4}).speed() == 4);
  CHECK(BenchLine(kTrain, Figure{.ferry = 300, .peer_value = 100}).speed() == 3);
  CHECK_FALSE(BenchLine(kTrain, Figure{.ferry = 300}).speed());
  CHECK_FALSE(BenchLine(kTrain, Figure{.ferry = 0, .peer_value = 1}).speed());
}

TEST_CASE("the picture has a bar to the right for what is faster and to the left for what is slower") {
  const std::vector<SpeedBar> bars{bar_of({kHop, Figure{.ferry = 1, .peer_value = 4}}),
                                   bar_of({kHop, Figure{.part = "<far>", .ferry = 2, .peer_value = 1}}),
                                   bar_of({kTrain, Figure{.ferry = 300}})};
  const std::string svg = speed_bars_svg("right of 1x faster", bars);
  CHECK(svg.find("x=\"400\" y=\"56\" width=\"210\" height=\"14\" fill=\"#3b7dd8\"") != std::string::npos);
  CHECK(svg.find("x=\"295\" y=\"76\" width=\"105\" height=\"14\" fill=\"#d8843b\"") != std::string::npos);
  CHECK(svg.find("hop.4B.&lt;far>") != std::string::npos);
  CHECK(svg.find("2 us, raw MPI 1</text>") != std::string::npos);
  CHECK(svg.find("300 steps/s</text>") != std::string::npos);
  CHECK(svg.find(">right of 1x faster</text>") != std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
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

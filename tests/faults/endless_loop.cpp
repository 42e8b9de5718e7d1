// A loop without an end, over all tasks with a message in every iteration, as a program that takes the options of
// `ferry run`.
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "runner/run/run_main.hpp"

int main(int argc, char** argv) {
  using ferry::Value, ferry::Values;
  ferry::Graph g;
  {
    const auto all = g.on(g.mesh("dp"));
    const Values end = ferry::while_loop(
        {g.constant({0.0F, 0.0F, 0.0F, 0.0F})},
        [](const Values& carried) { return ferry::less(ferry::sum(carried[0]), 1.0F); },
        [](const Values& carried) {
          return Values{carried[0] - ferry::abs(ferry::sum(carried[0].laid({ferry::split(0)})))};
        });
    g.fetch("train", "end", ferry::sum(end[0]));
  }
  return ferry::run_main(argc, argv, g);
}

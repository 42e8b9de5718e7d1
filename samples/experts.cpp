// Experts on different tasks: the tokens and the experts are split over the tasks. Token t goes to the task with expert
// t mod 8 (Roller et al., 2021), and its result comes back: two all-to-alls in each pass of the network.
//
//     build/samples/experts --tasks 4 --steps 20
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  using ferry::split;
  using ferry::Value;
  constexpr std::int64_t kGroups = 12, kExperts = 8, kWidth = 6, kHidden = 10;
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("ep"));
  // Tokens in groups of eight: token [i, e] goes to expert e.
  const Value x = ferry::uniform(g, {kGroups, kExperts, kWidth}, -1, 1).laid({split(0)});
  const Value up = g.variable("up", ferry::normal(g, {kExperts, kWidth, kHidden}, 0, 0.4)).laid({split(0)});
  const Value down = g.variable("down", ferry::normal(g, {kExperts, kHidden, kWidth}, 0, 0.3)).laid({split(0)});
  const Value sent = ferry::transpose(ferry::identity(x).laid({split(1)}), {1, 0, 2});
  const Value worked = ferry::matmul(ferry::relu(ferry::matmul(sent, up)), down);
  const Value back = ferry::identity(ferry::transpose(worked, {1, 0, 2})).laid({split(0)});
  const Value loss = ferry::mean(ferry::square(x + back - ferry::tanh(x * 2)));
  for (const Value& update : ferry::sgd(loss, {up, down}, 2)) g.target("train", update);
  g.fetch("train", "loss", loss);
  return ferry::run_main(argc, argv, g);
}

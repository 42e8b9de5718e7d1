// The graph of tests/support/walk.hpp as a program that takes the options of `ferry run`. It prints a line on stderr in
// each step.
#include "runner/run/run_main.hpp"
#include "tests/support/walk.hpp"

int main(int argc, char** argv) {
  ferry::test::Walk walk;
  walk.graph.target("train", ferry::print(walk.request.fetches[0], "total"));
  return ferry::run_main(argc, argv, walk.graph);
}

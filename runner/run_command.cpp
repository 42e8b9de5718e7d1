#include <CLI/CLI.hpp>
#include <memory>

#include "graph/graph_file.hpp"
#include "ops/op_set.hpp"

#include "runner/commands.hpp"
#include "runner/planned.hpp"
#include "runner/run.hpp"

namespace ferry {

void add_run_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Runs a graph file over tasks");
  struct Options : RunOptions {
    std::string file;
  };
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "A graph (.pb, .pbtxt), or a plan that ferry plan --save wrote (.plan)")
      ->required();
  add_run_options(*command, *options);
  add_examples(*command, R"(
    ferry run add.pb --tasks 3                       three virtual tasks in this process
    mpirun -np 3 ferry run add.pb                    three processes
    ferry run model.pb --entry predict --model m --feed x=digits.npy --out results
    ferry run add.plan                               as it was planned
    ferry run model.pb --epochs 3 --eval-every 100 --data mnist --save m)");
  command->callback([&action, options] {
    action = [options] {
      return is_plan_file(options->file) ? run_plan(options->file, *options)
                                         : run_graph(*load_graph(options->file, default_ops()), *options);
    };
  });
}

}  // namespace ferry

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.hpp"
#include "runner/command/commands.hpp"
#include "runner/files/graph_files.hpp"
#include "runner/run/job.hpp"
#include "runner/run/run.hpp"

namespace ferry {

void add_run_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Runs a graph on one task or many");
  auto options = std::make_shared<RunOptions>();
  command
      ->add_option("FILE", options->file,
                   "A graph (.pb, .pbtxt), an ONNX model (.onnx), or a plan that ferry plan --save wrote (.plan)")
      ->required();
  add_run_options(*command, *options);
  command
      ->add_option("--graph", options->graph,
                   "Proves first that the plan FILE computes this graph (.pb, .pbtxt, .onnx), else exit code 4")
      ->type_name("FILE");
  add_examples(*command, R"(
    ferry run add.pb --tasks 3                       three virtual tasks in this process
    mpirun -np 3 ferry run add.pb                    three processes
    ferry run model.pb --entry predict --model m --feed x=digits.npy --out results
    ferry run model.onnx --feed x=x.npy              an ONNX model, planned for the fed shapes
    ferry run add.plan --graph add.pb                as it was planned, if the plan computes the graph
    ferry run mine.pb --ops ./libmine.so             with custom ops
    ferry run model.pb --cluster machine.pbtxt       planned by the costs that ferry calibrate measured
    ferry run model.pb --epochs 3 --eval-every 100 --data mnist --save m
    ferry run model.pb --epochs 3 --checkpoint c --checkpoint-every 30s --resume   continues after the last checkpoint
    ferry run model.pb --epochs 3 --report run.html  where the time went, for a browser
    ferry run model.pb --epochs 3 --check-numerics   which op, step and line made the first NaN)");
  command->callback([&action, options] {
    action = [options] {
      if (is_plan_file(options->file)) return run_plan(*options);
      if (!options->graph.empty())
        throw Error(Code::usage, "--graph: {} is no plan to compare with a graph", options->file)
            .hint("leave --graph out, or give a .plan file in place of {}", options->file);
      LoadedGraph loaded = run_before_job(options->cluster, [&] { return load_any_graph(options->file, *options); });
      options->feeds = std::move(loaded.feeds);
      return run_graph(*loaded.graph, *options);
    };
  });
}

}  // namespace ferry

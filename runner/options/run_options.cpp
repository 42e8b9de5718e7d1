#include "runner/options/run_options.hpp"

#include "base/format.hpp"
#include "runner/files/cluster_file.hpp"
#include "runner/options/budget_option.hpp"
#include "runner/options/number_options.hpp"
#include "runner/options/op_libraries.hpp"

namespace ferry {

CheckpointOptions checkpoint_options(const RunOptions& options) {
  CheckpointOptions result;
  result.folder = options.checkpoint;
  result.keep = options.checkpoint_keep;
  result.resume = options.resume;
  constexpr std::string_view kName = "--checkpoint-every";
  const std::string_view every = options.checkpoint_every;
  try {
    if (every.ends_with("s"))
      result.every_seconds = std::chrono::duration<double>(time_span(kName, every.substr(0, every.size() - 1))).count();
    else if (!every.empty())
      result.every_steps = whole_number(kName, every, std::int64_t{1}, kMostSteps);
  } catch (Error& error) {
    throw error.hint("--checkpoint-every 100 for steps, or --checkpoint-every 30s");
  }
  return result;
}

SessionOptions session_options(const JobOptions& options, ExecutionOptions run) {
  SessionOptions result{.plan = options.plan, .run = std::move(run)};
  if (options.ops) {
    result.run.kernels = &options.ops->kernels;
    result.run.ops = &options.ops->ops;
  }
  if (options.device != "auto")
    result.plan.default_device = options.device == "cpu" ? DeviceKind::cpu : DeviceKind::gpu;
  return result;
}

void read_costs(RunOptions& options) {
  const std::string& path = options.cluster_file;
  if (path.empty() || launched_task(options.cluster) != 0) return;
  const DescribedCluster described = read_cluster(path);
  if (!described.has_costs)
    throw Error(Code::plan,
                "--cluster {}: the file has no costs of its own, and the tasks of a run come from its launcher", path)
        .hint(
            "start the tasks by --tasks N, mpirun or ferry launch; ferry plan --cluster plans for the hosts of a file");
  warn_of_other_origin(path, described.origin);
  options.cluster.costs = described.topology;
}

std::vector<GivenFile> files_read(const JobOptions& options) {
  std::vector<GivenFile> files{{"--devices", options.device_rules}, {"--cluster", options.cluster_file}};
  const auto add = [&](const char* option, const std::vector<std::string>& feeds) {
    for (const std::string& feed : feeds)
      if (const std::size_t equals = feed.find('='); equals != std::string::npos)
        files.push_back({option, feed.substr(equals + 1)});
  };
  add("--feed", options.feeds);
  add("--feed-part", options.feed_parts);
  return files;
}

void require_distinct_files(const RunOptions& options, const std::vector<std::string>& data) {
  std::vector<GivenFile> read = files_read(options);
  read.push_back({"", options.file});
  read.push_back({"--graph", options.graph});
  if (!options.run.data_folder.empty())
    for (const std::string& path : data) read.push_back({"--data", options.run.data_folder + "/" + path});
  require_distinct_files(read, {{"--save-plan", options.save_plan},
                                {"--flight-recorder", options.run.flight_recorder},
                                {"--trace", options.run.trace_file},
                                {"--metrics", options.metrics},
                                {"--stats", options.stats},
                                {"--report", options.report}});
}

bool places_ops(const JobOptions& options) {
  return options.device != "auto" && !options.cluster.simulated;
}

bool is_plan_file(const std::string& path) {
  return path.ends_with(".plan");
}

CLI::Option* require_plan_file(CLI::Option* option) {
  const auto check = [name = option->get_name()](const std::string& path) {
    if (!is_plan_file(path))
      throw Error(Code::usage, "{} {}: the name of a plan's file ends in .plan", as_is(name), path)
          .hint("{} {}.plan", as_is(name), path);
    return std::string();
  };
  return option->check(CLI::Validator(check, ""))->type_name("FILE.plan");
}

void add_feed_option(CLI::App& app, JobOptions& options) {
  app.add_option("--feed", options.feeds, "An input's value: an npy file, or a number for a scalar; repeatable")
      ->type_name("NAME=FILE.npy|NUMBER")
      ->allow_extra_args(false);
}

void add_dim_option(CLI::App& app, JobOptions& options) {
  app.add_option("--dim", options.dims, "The size of a symbolic dim of an ONNX model; repeatable")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
}

void add_job_options(CLI::App& app, JobOptions& options) {
  app.add_option("--entry", options.entry, "Which of the file's entries; default: train if there, else the outputs")
      ->type_name("NAME");
  app.add_option("--fetch", options.fetches, "Values to fetch; default: the entry's fetches")
      ->type_name("NAME[,NAME...]")
      ->allow_extra_args(false);
  restrict_range(app.add_option("--fetch-to", options.fetch_to,
                                "The task that gets the fetches, and prints or writes them; default 0"),
                 0, kMostTasks - 1)
      ->type_name("TASK");
  add_feed_option(app, options);
  app.add_option("--feed-part", options.feed_parts,
                 "This task's rows (dim 0) of an input, for example x=rows-{task}.npy; each task feeds its own rows; "
                 "repeatable")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false);
  add_dim_option(app, options);
  restrict_range(app.add_option("--tasks", options.cluster.tasks,
                                "The number of virtual tasks in this process, if no launcher started it"),
                 1, kMostTasks);
  restrict_range(
      app.add_flag(
          "--invariant{" + std::to_string(kDefaultShards) + "}", options.cluster.invariant,
          "Makes the results independent of the number of tasks, bit for bit: they depend only on S, the most tasks; "
          "default " +
              std::to_string(kDefaultShards)),
      1, kMostTasks)
      ->type_name("[=S]");
  app.add_option("--jobs", options.cluster.jobs, "Names of jobs and their tasks; default: all are worker")
      ->type_name("ps=0,worker=1-3");
  restrict_range(
      app.add_option(
          "--threads", options.cluster.threads,
          "Threads of each task; default: the cores that this process may use, divided by the tasks that share them"),
      1, kMostThreads);
  bytes_of(
      app.add_option("--memory", options.cluster.memory_bytes,
                     "The most memory for the values of a task, for example 2GB; default: the memory of its host"));
  bytes_of(app.add_option("--gpu-memory", options.cluster.gpu_memory_bytes,
                          "The most memory for values on each GPU; default: its free memory"));
  const auto is_device = [](const std::string& text) -> std::string {
    if (simulation_seed(text) || text == "auto" || text == "cpu" || text == "gpu") return "";
    return formatted("{} not in {{auto,cpu,gpu,sim,sim:SEED}}", text);
  };
  app.add_option_function<std::string>(
         "--device",
         [&options](const std::string& text) {
           options.device = text;
           options.cluster.simulated = simulation_seed(text);
         },
         "The device of ops that name none; auto, the default, is gpu if every task has one. sim, or sim:SEED: "
         "simulated GPUs on each task, to find races; slower")
      ->check(CLI::Validator(is_device, "{auto,cpu,gpu,sim}"));
  app.add_option("--devices", options.device_rules,
                 "Places ops by name: lines 'NAME-PATTERN /task:N/cpu:0' or 'NAME-PATTERN split(0) on dp'")
      ->type_name("RULES.txt");
  app.add_option_function<std::string>(
         "--place",
         [&options](const std::string& text) {
           options.plan.placing = text == "auto" ? Placing::automatic : Placing::annotated;
         },
         "auto: ops without an annotation are on all tasks, with the layouts that take the least planned time; "
         "annotations are constraints. annotated: the default, except for graphs with auto_place()")
      ->check(CLI::IsMember({"auto", "annotated"}));
  app.add_flag("--soft-placement", options.plan.soft_placement,
               "Moves an op to the CPU if its device has no kernel for it; reports each move");
  app.add_flag("--balance", options.balance,
               "Cuts the layers of pipelines into stages of about the same time, one for each task");
  add_budget_option(app, options.budget);
  add_ops_option(app, options.ops);
}

void add_run_options(CLI::App& app, RunOptions& options) {
  add_job_options(app, options);
  app.add_option("--out", options.out, "Writes DIR/NAME.npy for each fetch; else a summary is printed")
      ->type_name("DIR");
  restrict_range(app.add_option("--steps", options.steps, "Steps to run"), std::int64_t{1}, kMostSteps);
  restrict_range(app.add_option("--epochs", options.epochs, "Passes over the entry's data"), std::int64_t{1},
                 kMostEpochs)
      ->excludes("--steps");
  restrict_range(
      app.add_option("--eval-every", options.eval_every, "Runs the eval entry after every N steps, and at the end"),
      std::int64_t{1}, kMostSteps);
  restrict_range(
      app.add_option(
          "--print-every", options.print_every,
          "Prints a line after every N steps: means of the fetched scalars and samples a second since the last"),
      std::int64_t{1}, kMostSteps);
  app.add_option("--model", options.model, "Reads the variables from this folder, which --save wrote")
      ->type_name("DIR");
  app.add_option("--save", options.save, "Writes the variables to this folder at the end")->type_name("DIR");
  restrict_range(
      app.add_option("--seed", options.run.seed, "The seed of random numbers and of the order of data; default 0"),
      std::uint64_t{0}, kMostSeed);
  app.add_option("--transport", options.cluster.transport,
                 "How tasks communicate; auto, the default, is mpi under mpirun and srun, tcp if RANK, WORLD_SIZE, and "
                 "MASTER_ADDR and MASTER_PORT or FERRY_RENDEZVOUS are set, else inproc")
      ->check(CLI::IsMember({"auto", "inproc", "mpi", "tcp"}));
  app.add_option(
         "--cluster", options.cluster_file,
         "Plans with the costs of links and computing in a file that ferry calibrate wrote; task 0 reads it, and "
         "the tasks are the tasks of this job")
      ->type_name("CLUSTER.pbtxt");
  app.add_option("--interface", options.cluster.interface,
                 "The interface on which this task listens over tcp; default: the one that reaches task 0")
      ->type_name("NAME|ADDRESS");
  app.add_option("--data", options.run.data_folder, "The only folder that the graph's data ops may read")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--deadline",
         [&options](const std::string& text) { options.cluster.deadline = time_span("--deadline", text); },
         "Ends the job after this time without progress; default 60")
      ->type_name("SECONDS");
  app.add_flag("--print-annotations", options.plan.annotations,
               "With --place auto: prints the chosen layouts as C++ lines and as lines for --devices");
  app.add_flag_callback(
      "--no-equal", [&options] { options.plan.proves_placing = false; },
      "With --place auto: runs the plan without the proof that it computes the graph");
  app.add_flag_callback(
      "--no-compile", [&options] { options.run.compile_after = -1; },
      "Runs elementwise ops of CPUs without compiling them at run time (by LLVM); the results are the same, slower");
  app.add_flag("--check-numerics", options.run.check_numerics,
               "Ends the run at the first op that makes NaN or Inf, and names it (exit code 8); slower");
  restrict_range(
      app.add_option("--check-replicas", options.run.check_replicas,
                     "After every N steps, compares the copies of each variable; ends the run at a difference, "
                     "and names it (exit code 8)"),
      std::int64_t{1}, kMostSteps);
  app.add_flag(
      "--sync-gpu", options.run.sync_gpu,
      "Waits for each op on a GPU before the next, so that the error of a GPU that fails names the op; slower");
  app.add_flag(
      "--tune", options.tune,
      "First measures steps with several sizes of messages, and runs with the best; under mpirun, which has its "
      "own --tune, write --tune=true");
  require_plan_file(
      app.add_option("--save-plan", options.save_plan, "Writes the plan that was run, for ferry run FILE.plan"));
  CLI::Option* const checkpoint =
      app.add_option(
             "--checkpoint", options.checkpoint,
             "The folder for checkpoints: the run saves one at the end, and before SIGTERM ends it (exit code 75)")
          ->type_name("DIR");
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 "Also saves after every N steps, or with Ns after every N seconds")
      ->needs(checkpoint)
      ->type_name("N|Ns");
  restrict_range(app.add_option("--checkpoint-keep", options.checkpoint_keep,
                                "The number of newest checkpoints to keep; default 3"),
                 1, 1 << 20)
      ->needs(checkpoint);
  app.add_flag("--resume", options.resume, "Continues from the newest checkpoint, if there is one")->needs(checkpoint);
  app.add_option("--flight-recorder", options.run.flight_recorder,
                 "If the job fails, writes the last events of each task, for ferry show")
      ->type_name("FILE.json");
  CLI::Option* const record =
      app.add_option("--record-turns", options.run.record_turns,
                     "For asynchronous training: writes the order in which each server sent and received, to FILE.TASK")
          ->type_name("FILE");
  app.add_option("--replay-turns", options.run.replay_turns,
                 "Repeats the order of --record-turns: a run with the same number of steps has the same bits")
      ->type_name("FILE")
      ->excludes(record)
      ->excludes(checkpoint);
  app.add_option(
         "--trace", options.run.trace_file,
         "Writes a timeline of all tasks for ui.perfetto.dev or chrome://tracing; of a long run, its first steps")
      ->type_name("FILE.json");
  app.add_option("--report", options.report,
                 "Writes a page for any browser: curves, timeline, waits of each task, critical path, messages, memory")
      ->type_name("FILE.html");
  app.add_option("--metrics", options.metrics,
                 "Writes the fetched scalars of each step during the run, one line of JSON a step")
      ->type_name("FILE.jsonl");
  app.add_option(
         "--tensorboard", options.tensorboard,
         "Writes the fetched scalars of each step as event files for TensorBoard, in a folder of DIR for each entry")
      ->type_name("DIR");
  app.add_option("--stats", options.stats, "Writes counters of all tasks, next to the predictions of the plan")
      ->type_name("FILE.json");
}

}  // namespace ferry

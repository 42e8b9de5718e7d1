// servers FIRST COUNT [sim]: for COUNT seeds from FIRST on, 1 to 3 servers have variables that 1 to 5 workers update
// asynchronously, in several runs of random numbers of steps. Sums of integers must equal the sums of ops one after
// another without a plan, whatever the order was. No worker may have had values that are too old or too new. A second
// session that repeats the recorded turns must end with the same bits, also of numbers that are not integers. With
// `sim` the workers' tasks are of simulated devices. Prints each seed that fails.
#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "executor/session/session.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/asynchronous.hpp"
#include "ops/train/optim.hpp"
#include "tests/executor/seeds.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/temp_folder.hpp"

namespace {

using namespace ferry;

constexpr std::int64_t kColumns = 3;

struct Servers {
  Graph graph;
  int servers = 1, workers = 1;
  std::int64_t staleness = 1;
  std::vector<std::int64_t> runs;  ///< steps of each
  RunRequest request;
};

Tensor small_integers(test::Dice& dice, const std::vector<std::int64_t>& sizes) {
  Tensor made(DType::float32, sizes);
  for (float& number : made.mutable_data<float>()) number = static_cast<float>(dice.below(5) - 2);
  return made;
}

Tensor numbers(const std::vector<std::int64_t>& sizes, float value) {
  Tensor made(DType::float32, sizes);
  for (float& number : made.mutable_data<float>()) number = value;
  return made;
}

void build(Servers& made, test::Dice& dice) {
  Graph& g = made.graph;
  made.servers = 1 + dice.below(3);
  made.workers = 1 + dice.below(5);
  made.staleness = 1 + dice.below(6);
  for (int run = 0; run < 1 + dice.below(3); ++run) made.runs.push_back(1 + dice.below(12));
  const std::int64_t rows = 1 + dice.below(40), size = 1 + dice.below(rows);
  const auto variable = [&](const std::string& name, const Tensor& value) {
    const int server = g.variables().empty() ? 0 : dice.below(made.servers);  // fetches go to task 0
    const Scope there = g.device("/job:ps/task:" + std::to_string(server) + "/cpu:0");
    return g.variable(name, g.constant(value));
  };
  const Value total = variable("total", numbers({kColumns}, 0)), count = variable("count", numbers({}, 0));
  const Value late = variable("late", numbers({}, 0)), early = variable("early", numbers({}, 0));
  Value left, right, both;
  {
    const Scope there = g.annotated(total.op().annotation());
    left = g.variable("left", g.constant(numbers({2}, 1)));
    right = g.variable("right", g.constant(numbers({2}, 2)));
    both = g.variable("both", g.constant(numbers({2}, 0)));
  }
  const Value weights = variable("weights", small_integers(dice, {kColumns, 2}));
  const Value deep = variable("deep", small_integers(dice, {2, 2}));
  const Scope workers = g.on(g.mesh("workers", "/job:worker/task:*"));
  const Value x = batch({g.constant(small_integers(dice, {rows, kColumns}))}, size, {.shuffle = dice.one_in(2)})[0];
  x.laid({split(0)});
  // A worker's own number of steps, and how many turns of workers there were before those that it may have missed.
  const Value own = g.variable("own", g.constant(numbers({}, 0)));
  const auto n = static_cast<double>(made.workers), most = static_cast<double>(made.staleness);
  const Value each = g.constant(numbers({made.workers}, 1)).laid({split(0)});
  const Value too_old = maximum((own - most) * n - count, 0.0);
  const Value too_new = maximum(count - own * n - (n - 1) * (most + 1), 0.0);
  const Value loss = mean(square(matmul(tanh(matmul(x, weights)), deep)));
  Values updates;
  const auto add = [&](const Value& to, const Value& what) {
    const Scope there = g.annotated(to.op().annotation());
    updates.push_back(assign_add(to, what));
  };
  add(total, sum(x, {0}));
  add(count, sum(each));
  add(late, sum(each * too_old));
  add(early, sum(each * too_new));
  {  // each turn exchanges them: an assignment does not change what others of the turn read
    const Scope there = g.annotated(left.op().annotation());
    updates.push_back(assign(left, right));
    updates.push_back(assign(right, left));
    updates.push_back(assign(both, left * 2.0 + right));
  }
  const bool adaptive = dice.one_in(2);
  for (const Value& trained : {weights, deep})
    for (const Value& update : adaptive ? adam(loss, {trained}, 0.01) : sgd(loss, {trained}, 0.01))
      updates.push_back(update);
  made.request.targets = asynchronous(updates, {.staleness = made.staleness});
  made.request.targets.push_back(assign_add(own, 1.0));
  made.request.fetches = {sum(x)};
}

struct Ran {
  TensorMap variables;
  std::vector<Tensor> fetched;  ///< of each run's last step
  std::vector<Tensor> told;     ///< of each step
};

Ran ran(Servers& made, ClusterOptions job, SessionOptions options) {
  Session session(made.graph, Cluster::connect(std::move(job)), std::move(options));
  Ran result;
  made.request.on_step = [&](std::int64_t, std::span<const Tensor> fetched) { result.told.push_back(fetched[0]); };
  for (const std::int64_t steps : made.runs) {
    made.request.steps = steps;
    result.fetched.push_back(session.run(made.request)[0]);
  }
  result.variables = session.variables();
  return result;
}

std::string wrong_in(std::uint64_t seed, bool simulated) {
  test::Dice dice(seed);
  const test::TempFolder folder;
  Servers made;
  build(made, dice);
  ClusterOptions job{.tasks = made.servers + made.workers, .threads = 1 + dice.below(2), .transport = "inproc"};
  job.jobs = "ps=0-" + std::to_string(made.servers - 1) + ",worker=" + std::to_string(made.servers) + "-" +
             std::to_string(made.servers + made.workers - 1);
  if (simulated) job.simulated = seed;
  const Ran first = ran(made, job, {.run = {.seed = seed, .record_turns = folder / "turns"}});
  const Ran second = ran(made, job, {.run = {.seed = seed, .replay_turns = folder / "turns"}});
  test::Evaluator plainly(made.graph, {.files = &local_files(), .data_folder = folder.path(), .seed = seed});
  for (std::size_t run = 0; run < made.runs.size(); ++run) {
    std::vector<Tensor> wanted;
    for (std::int64_t step = 0; step < made.runs[run]; ++step)
      wanted = plainly.run(made.request.fetches, {}, made.request.targets);
    if (!first.fetched[run].same_bits(wanted[0]))
      return "run " + std::to_string(run) + " fetched " + first.fetched[run].str() + ", not " + wanted[0].str();
  }
  for (std::size_t step = 0; step < first.told.size(); ++step)
    if (!first.told[step].same_bits(second.told[step]))
      return "step " + std::to_string(step) + " fetched " + first.told[step].str() + ", when repeated " +
             second.told[step].str();
  for (const auto& [name, value] : first.variables)
    if (!value.same_bits(second.variables.at(name)))
      return name + " is " + value.str() + ", when repeated " + second.variables.at(name).str();
  for (const char* const name : {"late", "early"})
    if (first.variables.at(name).number(0) != 0) return std::string(name) + " is " + first.variables.at(name).str();
  const double turns = first.variables.at("own").number(0) * made.workers;
  if (first.variables.at("count").number(0) != turns) return "count is " + first.variables.at("count").str();
  for (const char* const name : {"total", "own"})
    if (!first.variables.at(name).same_bits(plainly.variables.at(name)))
      return std::string(name) + " is " + first.variables.at(name).str() + ", not " + plainly.variables.at(name).str();
  const bool exchanged = static_cast<std::int64_t>(turns) % 2 != 0;
  const auto first_of = [&](const char* name) { return first.variables.at(name).number(0); };
  if (first_of("left") != (exchanged ? 2 : 1) || first_of("right") != (exchanged ? 1 : 2) ||
      first_of("both") != (exchanged ? 4 : 5))
    return "after " + std::to_string(turns) + " turns left, right and both are " + first.variables.at("left").str() +
           first.variables.at("right").str() + first.variables.at("both").str();
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return ferry::test::try_seeds(argc, argv, "jobs with servers were right, and repeated", wrong_in);
}

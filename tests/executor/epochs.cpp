// epochs FIRST COUNT [sim]: for COUNT seeds from FIRST on, 1 to 8 tasks read a random number of rows for some epochs,
// from memory or from a file. The batches may not divide the number of rows. The session is dropped at random steps and
// continues from a checkpoint on another number of tasks. Every row must have been taken once in each epoch. Losses,
// gradients and weights must equal the results of ops one after another without a plan. All numbers are small integers,
// so that sums over tasks are exact. With `sim` the tasks are of simulated devices. Prints each seed that fails.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "executor/session/checkpoints.hpp"
#include "executor/session/session.hpp"
#include "graph/types/batches.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/executor/seeds.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/temp_folder.hpp"

namespace {

using namespace ferry;

constexpr std::int64_t kColumns = 3;
constexpr std::size_t kExact =
    3;  // the number of fetches; after them comes a mean, and each task divides its part of it

struct Epochs {
  Graph graph;
  Batches batches;
  std::int64_t steps = 0;
  RunRequest request;
};

Tensor counting(std::int64_t rows) {
  Tensor ids(DType::int32, {rows});
  for (std::int64_t i = 0; i < rows; ++i) ids.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  return ids;
}

Tensor small_integers(test::Dice& dice, const std::vector<std::int64_t>& sizes) {
  Tensor made(DType::float32, sizes);
  for (float& number : made.mutable_data<float>()) number = static_cast<float>(dice.below(5) - 2);
  return made;
}

void build(Epochs& made, test::Dice& dice, const test::TempFolder& folder) {
  Graph& g = made.graph;
  const std::int64_t rows = 1 + dice.below(60), size = 1 + dice.below(rows);
  const bool drop = dice.one_in(4), in_turns = dice.one_in(2), streams = dice.one_in(2);
  made.batches = {.rows = rows, .size = size, .keep = !drop};
  made.steps = made.batches.steps() * (1 + dice.below(3));
  const Tensor numbers = small_integers(dice, {rows, kColumns}), ids = counting(rows);
  write_npy(local_files(), folder / "x.npy", "<f4", numbers.sizes(), numbers.bytes());
  const Scope everywhere = g.on(g.mesh("dp"));
  const Value x = read_npy(g, "x.npy", DType::float32, {rows, kColumns});
  const Values now = batch({x, g.constant(ids)}, size,
                           {.shuffle = dice.one_in(2),
                            .seed = dice.below(100),
                            .rest = drop ? Rest::drop : Rest::keep,
                            .stream_from = streams ? 1 : std::int64_t{1} << 30,
                            .prefetch = 1 + dice.below(3)});
  if (in_turns) now[0].laid({split(0)});
  const Value taken = g.variable("taken", g.constant(Tensor(DType::float32, {rows})));
  const Value weights = g.variable("weights", g.constant(small_integers(dice, {kColumns, 2})));
  const Value made_of_it = matmul(now[0], weights);
  const Value gradient = gradients(sum(made_of_it), Values{weights})[0];
  Value beside = now[0];  // or another number of rows, so that epochs end at other steps
  if (dice.one_in(3)) {
    const std::int64_t others = 1 + dice.below(20);
    beside = batch({g.constant(small_integers(dice, {others, 2}))}, 1 + dice.below(others))[0];
    if (dice.one_in(2)) beside.laid({split(0)});
  }
  made.request.fetches = {sum(square(made_of_it)), gradient, sum(beside), mean(square(made_of_it))};
  made.request.targets = {assign(taken, taken + sum(one_hot(now[1], rows), {0})),
                          assign(weights, minimum(maximum(weights - gradient, -3.0), 3.0))};
}

/// The fault of the variables at the end.
std::string difference(const Epochs& made, test::Evaluator& plainly, const TensorMap& variables) {
  for (const auto& [name, value] : variables)
    if (!value.same_bits(plainly.variables.at(name)))
      return name + " is " + value.str() + ", not " + plainly.variables.at(name).str();
  const std::int64_t epochs = made.steps / made.batches.steps();
  for (const float times : variables.at("taken").data<float>())
    if (made.batches.keep && times != static_cast<float>(epochs))
      return "a row was taken " + std::to_string(times) + " times in " + std::to_string(epochs) + " epochs";
  return "";
}

std::string wrong_in(std::uint64_t seed, bool simulated) {
  test::Dice dice(seed);
  const test::TempFolder folder;
  Epochs made;
  build(made, dice, folder);
  test::Evaluator plainly(made.graph, {.files = &local_files(), .data_folder = folder.path(), .seed = seed});
  std::string wrong;
  for (std::int64_t done = 0; done < made.steps && wrong.empty();) {
    ClusterOptions job{.tasks = 1 + dice.below(8), .threads = 1 + dice.below(2), .transport = "inproc"};
    if (simulated) job.simulated = seed;
    Session session(made.graph, Cluster::connect(std::move(job)),
                    {.run = {.seed = seed, .data_folder = folder.path()}});
    RunRequest request = made.request;
    Checkpoints checkpoints(session, request, {.folder = folder / "saved", .every_steps = 1, .resume = true});
    if (checkpoints.step() != done) return "continues after step " + std::to_string(checkpoints.step());
    request.checkpoints = &checkpoints;
    request.steps = 1 + dice.below(made.steps - done);
    request.on_step = [&](std::int64_t step, std::span<const Tensor> got) {
      const std::vector<Tensor> wanted = plainly.run(request.fetches, {}, request.targets);
      for (std::size_t i = 0; i < got.size() && wrong.empty(); ++i)
        if (i < kExact ? !got[i].same_bits(wanted[i])
                       : std::abs(got[i].number(0) - wanted[i].number(0)) > 1e-5 * wanted[i].number(0))
          wrong = "fetch " + std::to_string(i) + " of step " + std::to_string(done + step) + " is " + got[i].str() +
                  ", not " + wanted[i].str();
    };
    session.run(request);
    done += request.steps;
    if (done == made.steps && wrong.empty()) wrong = difference(made, plainly, session.variables());
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  return ferry::test::try_seeds(argc, argv, "jobs took every row once in an epoch", wrong_in);
}

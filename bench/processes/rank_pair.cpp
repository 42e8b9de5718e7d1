#include "bench/processes/rank_pair.hpp"

#include <cstdio>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "bench/processes/process.hpp"

namespace ferry::bench {
namespace {

std::vector<Pair> pairs_of(const std::string& output) {
  std::vector<Pair> pairs;
  for (std::string_view line : split(output, '\n')) {
    Pair pair;
    if (std::sscanf(std::string(line).c_str(), "%lf %lf", &pair.ferry, &pair.peer) == 2) pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace

std::vector<Pair> measure_pairs(const RankPair& wanted, std::vector<std::string> mpirun) {
  for (const std::string& word : {beside_this_program("ferry-bench-tasks"), wanted.what, std::to_string(wanted.number),
                                  std::to_string(wanted.pairs)})
    mpirun.push_back(word);
  const std::string output =
      run_program(mpirun, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}).output;
  std::vector<Pair> found = pairs_of(output);
  if (found.empty()) throw Error(Code::bug, wanted.what + ": mpirun gave no figures");
  return found;
}

Figure against_best(const RankPair& wanted, const std::vector<std::string>& mpirun,
                    const std::vector<Tuning>& tunings) {
  std::optional<Figure> best;
  for (const Tuning& tuning : tunings) {
    std::vector<std::string> command = mpirun;
    command.insert(command.end(), tuning.options.begin(), tuning.options.end());
    Figure figure = figure_of(measure_pairs(wanted, std::move(command)));
    figure.peer = "raw MPI, " + tuning.name;
    if (!best || *figure.peer_value < *best->peer_value) best = figure;
  }
  FERRY_ASSERT(best.has_value(), "no tuning");
  return *best;
}

}  // namespace ferry::bench

// fuzz_graphs FIRST COUNT: changes graph files at random and reads them, so that all that a file can say reaches the
// reader and the shape inference of each op. A file must be refused with a reason, or be taken; what is taken must be
// written and read again as the same graph. Begun from the graphs of the op cases, loops and branches, and random
// graphs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.pb.h"
#include "graph/graph_file.hpp"
#include "graph/graph_frame.hpp"
#include "ops/control.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/op_set.hpp"
#include "ops/reduce.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/random_graph.hpp"

namespace ferry::test {
namespace {

std::unique_ptr<Graph> read(const std::string& content) {
  return decode_graph(std::as_bytes(std::span(content)), GraphFormat::binary, "fuzz.pb", default_ops());
}

std::string with_loop_and_branch() {
  Graph graph;
  const Value begin = graph.constant({1, 2, 3});
  const Values looped = while_loop(
      {begin}, [](const Values& x) { return less(sum(x[0]), 30); },
      [&](const Values& x) { return Values{x[0] + begin}; });
  const Values chosen = cond(
      less(sum(begin), 7), [&] { return Values{looped[0] * 2}; }, [&] { return Values{looped[0] - begin}; });
  graph.fetch("run", "y", chosen[0]);
  return encode_graph(graph, GraphFormat::binary).content;
}

std::vector<std::string> seeds() {
  std::vector<std::string> files{with_loop_and_branch()};
  for (const Case& which : op_cases()) {
    for (const DType dtype : kDTypes) {
      if (!dtypes_of(which).has(dtype)) continue;
      const CaseGraph made(which, inputs_for(which, 0, dtype));
      files.push_back(encode_graph(made.graph, GraphFormat::binary).content);
      break;
    }
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    files.push_back(encode_graph(*random_graph(seed, 12, 2).graph, GraphFormat::binary).content);
  std::erase_if(files, [](const std::string& file) { return file.size() > 20000; });
  return files;
}

enum class Outcome { refused, taken, wrong };

Outcome outcome_of(const std::string& content) {
  try {
    const std::unique_ptr<Graph> graph = read(content);
    const std::string again = encode_graph(*graph, GraphFormat::binary).content;
    if (encode_graph(*read(again), GraphFormat::binary).content == again) return Outcome::taken;
    std::printf("what was read is written as another graph\n");
  } catch (const Error& error) {
    if ((error.code() == Code::file || error.code() == Code::usage) && error.text().size() < 4000)
      return Outcome::refused;
    std::printf("code %d: %s\n", static_cast<int>(error.code()), error.what());
  } catch (const std::exception& error) {
    std::printf("an exception: %s\n", error.what());
  }
  return Outcome::wrong;
}

}  // namespace
}  // namespace ferry::test

int main(int, char** argv) {
  using namespace ferry::test;
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const std::vector<std::string> files = seeds();
  std::uint64_t taken = 0, wrong = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Dice dice(seed);
    ferry::file::GraphFile message;
    if (!message.ParseFromString(dice.of(files))) return 2;
    mutate(message, dice);
    message.set_magic(0);  // the head is put right, as a forger would
    message.set_hash(0);
    std::string content = message.SerializeAsString();
    ferry::write_graph_head(content);
    const Outcome outcome = outcome_of(content);
    if (outcome == Outcome::wrong) std::printf("  of seed %llu\n", static_cast<unsigned long long>(seed));
    taken += outcome == Outcome::taken ? 1 : 0;
    wrong += outcome == Outcome::wrong ? 1 : 0;
  }
  std::printf("%llu files, %llu taken, %llu wrong\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(taken), static_cast<unsigned long long>(wrong));
  return wrong == 0 && taken > 0 && taken < count ? 0 : 1;
}

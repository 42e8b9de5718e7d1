// fuzz_graphs FIRST COUNT: changes graph files at random and reads them, so that all that a file can say reaches the
// reader and the shape inference of each op. A file must be refused with a reason, or be accepted. An accepted graph
// must be written and read again as the same graph. It starts from the graphs of the op cases, loops and branches, and
// random graphs.
#include <cstdio>
#include <string>
#include <vector>

#include "graph/ferry_graph.pb.h"
#include "graph/file/graph_file.hpp"
#include "graph/file/graph_frame.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/op_set.hpp"
#include "tests/fuzz/fuzz.hpp"
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

/// Reads the file; whether the graph is written and read again as the same.
bool read_and_written(const std::string& content) {
  const std::string again = encode_graph(*read(content), GraphFormat::binary).content;
  return encode_graph(*read(again), GraphFormat::binary).content == again;
}

}  // namespace
}  // namespace ferry::test

int main(int argc, char** argv) {
  using namespace ferry::test;
  if (argc != 3) return std::fputs("usage: fuzz_graphs FIRST COUNT\n", stderr), 2;
  ferry::file::GraphFile message;
  return fuzz(argv[1], argv[2], seeds(), message, [&] {
    message.set_magic(0);  // then a head is written that fits, as a forger would
    message.set_hash(0);
    std::string content = message.SerializeAsString();
    ferry::write_graph_head(content);
    return outcome_of([&] { return read_and_written(content); }, {ferry::Code::file, ferry::Code::usage});
  });
}

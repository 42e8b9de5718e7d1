// Evaluates a graph op by op, with kernels and nothing else: no plan, no placement, no tasks. What a session gives on
// any placement must be what this gives.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "kernels/kernel.hpp"

namespace ferry::test {

struct EvaluateOptions {
  const KernelTable* kernels = nullptr;  ///< null: the CPU's
  Parallel* parallel = nullptr;          ///< null: this thread alone
  FileSystem* files = nullptr;           ///< for data ops
  bool stream = false;                   ///< KernelRun::stream of the kernels that heed it
  std::string data_folder = {};
  std::uint64_t seed = 0;
};

/// Runs a graph step by step; variables live from step to step. The graph must outlive it and not change.
///
///     Evaluator evaluator(graph);
///     Tensor c_now = evaluator.run({c})[0];
class Evaluator {
 public:
  using Feeds = std::map<std::string, Tensor, std::less<>>;

  explicit Evaluator(const Graph& graph, EvaluateOptions options = {});

  /// One step: the fetched values. Targets run for their effect. Variables without a value are initialised first, by
  /// the entry "init".
  std::vector<Tensor> run(const std::vector<Value>& fetches, const Feeds& feeds = {},
                          const std::vector<Value>& targets = {});

  /// By the name of the Variable op.
  std::map<std::string, Tensor, std::less<>> variables;
  /// Number of the next step.
  std::int64_t step = 0;

 private:
  /// Values of one graph, or of one run of a body.
  struct Frame {
    const Graph& graph;
    std::span<const Tensor> arguments;  ///< of the parameters, in order
    const Feeds& feeds;
    std::vector<std::int64_t> iterations;
    std::vector<Tensor> values;
    std::map<std::string, Tensor, std::less<>> assigned;
  };

  void run_ops(const std::vector<OpId>& roots, Frame& frame);
  void run_op(const Op& op, Frame& frame);
  void run_kernel(const Op& op, Frame& frame);
  std::vector<Tensor> run_while(const Op& op, Frame& frame);
  std::vector<Tensor> run_cond(const Op& op, Frame& frame);
  std::vector<Tensor> run_body(const Graph& body, std::vector<Tensor> arguments, std::vector<std::int64_t> iterations);
  void initialise();

  const Graph& graph_;
  EvaluateOptions options_;
};

}  // namespace ferry::test

// Quote: the planned memory, time and price of a step, before it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/types/batches.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// The estimate of a step on one number of tasks.
struct Estimate {
  /// Tasks that do the same.
  struct TaskClass {
    std::string name;  ///< "class 0", as in `ferry plan`
    std::vector<int> tasks;
    std::uint32_t threads = 1;
    std::uint64_t bytes = 0;           ///< of a task: the most that it needs at one time
    std::uint64_t variable_bytes = 0;  ///< the part of `bytes` that variables need
  };
  int tasks = 1;
  std::string placement = {};  ///< the choice of --place auto: "mesh 2"; else empty
  std::vector<TaskClass> roles = {};
  double step_seconds = 0, computing_seconds = 0, message_seconds = 0;  ///< as in StepEstimate
  std::optional<double> epoch_seconds = {};                             ///< none: the entry reads no data

  /// The bytes of the task that needs the most.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// The estimate of a plan that has a StepEstimate. `last` is the time of an epoch's last step, in seconds. All other
/// steps take the plan's time.
[[nodiscard]] Estimate estimate(const PlanResult& result, const std::optional<Batches>& data, double last);

struct Quote {
  /// The kernels of one line of the user's program.
  struct Line {
    std::string place;                                ///< "model.cpp:12", or the op's name if the line is not known
    std::vector<std::pair<std::string, double>> ops;  ///< op types, each with the total seconds of its kernels
    double seconds = 0;                               ///< in a step, on the task with the most time in this line
  };
  struct Message {
    std::string name;  ///< of the value
    std::string what;  ///< "all_reduce of 4 tasks", "transfer"
    std::string line;  ///< empty: not known
    std::uint64_t bytes = 0;
    double seconds = 0;
  };
  /// A row of the table for other numbers of tasks.
  struct Row {
    int tasks = 1;
    std::variant<Estimate, std::string> estimate;  ///< or the reason why there is no plan
  };
  std::string entry;  ///< empty: the quote is for the graph's outputs
  std::optional<Batches> data;
  Estimate job;
  std::vector<Line> lines;        ///< the longest first; the ops of a line also
  std::vector<Message> messages;  ///< the longest first
  std::int64_t iterations = 0;    ///< assumed iterations of a loop; 0: there is no loop
  std::vector<Row> table;
  std::optional<double> price;  ///< of one task for one hour
  std::string costs;            ///< the file with the costs; empty: built-in costs
  bool here = true;             ///< the tasks are on this machine, not in a described cluster
};

/// Fills lines, messages and iterations.
void add_work(const StepEstimate& step, Quote& quote);

/// The quote as text of one screen.
[[nodiscard]] std::string quote_text(const Quote& quote);
[[nodiscard]] std::string quote_json(const Quote& quote);

}  // namespace ferry

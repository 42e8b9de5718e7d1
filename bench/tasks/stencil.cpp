#include <mpi.h>

#include <utility>

#include "bench/tasks/two_tasks.hpp"
#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"

namespace ferry::bench {
namespace {

constexpr std::int64_t kColumns = 1024, kPitch = kColumns + 2;
constexpr float kQuarter = 0.25F;

/// Computes one row of the next array. It is compiled for the processor on which it runs, as users compile their loops.
[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]] void row_by_hand(float* __restrict next,
                                                                                       const float* here,
                                                                                       const float* source) {
  for (std::int64_t c = 1; c <= kColumns; ++c)
    next[c] = (here[c - kPitch] + here[c + kPitch] + here[c - 1] + here[c + 1]) * kQuarter + source[c];
}

/// The hand-written side. Each rank has a row above and a row below its part for rows of its neighbours, which it
/// receives while it computes the inner rows.
class ByHand {
 public:
  explicit ByHand(std::int64_t rows)
      : rows_(rows), here_(static_cast<std::size_t>((rows + 2) * kPitch), 1.0F), next_(here_), source_(here_) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    above_ = rank == 0 ? MPI_PROC_NULL : rank - 1;
    below_ = rank + 1 == size ? MPI_PROC_NULL : rank + 1;
  }

  void run(std::int64_t rounds) {
    for (; rounds > 0; --rounds) {
      MPI_Request requests[4];
      float* const u = here_.data();
      MPI_Irecv(u + 1, kColumns, MPI_FLOAT, above_, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(u + (rows_ + 1) * kPitch + 1, kColumns, MPI_FLOAT, below_, 0, MPI_COMM_WORLD, &requests[1]);
      MPI_Isend(u + kPitch + 1, kColumns, MPI_FLOAT, above_, 0, MPI_COMM_WORLD, &requests[2]);
      MPI_Isend(u + rows_ * kPitch + 1, kColumns, MPI_FLOAT, below_, 0, MPI_COMM_WORLD, &requests[3]);
      for (std::int64_t r = 2; r < rows_; ++r) row(r);
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      row(1);
      if (rows_ > 1) row(rows_);
      std::swap(here_, next_);
    }
  }

 private:
  void row(std::int64_t r) {
    row_by_hand(next_.data() + r * kPitch, here_.data() + r * kPitch, source_.data() + r * kPitch);
  }

  std::int64_t rows_;
  int above_ = MPI_PROC_NULL, below_ = MPI_PROC_NULL;
  std::vector<float> here_, next_, source_;
};

}  // namespace

Sides stencil(const Cluster& cluster, std::int64_t bytes) {
  const Work work = work_for(bytes);
  const std::int64_t rows = bytes / (kColumns * static_cast<std::int64_t>(sizeof(float)));
  auto job = std::make_shared<Job>();
  Graph& g = job->graph;
  auto everywhere = g.on(g.mesh("y"));
  const std::vector<std::int64_t> sizes{rows * cluster.size(), kColumns};
  const Value u = g.variable("u", broadcast_to(g.constant(1.0F), sizes)).laid({split(0)});
  const Value source = g.variable("source", broadcast_to(g.constant(1.0F), sizes)).laid({split(0)});
  const auto next = [&](const Value& x) {
    const Value wide = pad(x, {1, 1}, {1, 1});
    const auto window = [&](std::int64_t down, std::int64_t right) {
      return slice(wide, {0, 1}, {down, right}, {down + sizes[0], right + sizes[1]});
    };
    return (window(0, 1) + window(2, 1) + window(1, 0) + window(1, 2)) * kQuarter + source;
  };
  const auto rounds = static_cast<float>(work.per_step);
  const std::vector<Value> last = while_loop(
      {g.constant(0.0F), u}, [&](const std::vector<Value>& s) { return s[0] < rounds; },
      [&](const std::vector<Value>& s) {
        return std::vector<Value>{s[0] + 1.0, next(s[1])};
      });
  job->targets = {assign(u, last[1])};
  job->session = std::make_unique<Session>(g, cluster, SessionOptions{.plan = {.default_device = DeviceKind::cpu}});
  auto by_hand = std::make_shared<ByHand>(rows);
  return sides_of(job, work, [=](std::int64_t times) { by_hand->run(times); });
}

}  // namespace ferry::bench

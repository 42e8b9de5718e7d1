// PlanSession: the former name of a Session that runs a plan. Deprecated: the next version does not have it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "executor/session/session.hpp"
#include "plan/plan_result.hpp"
#include "plan/requirements.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class [[deprecated("use Session, which takes a plan, too")]] PlanSession {
 public:
  using OnStep = std::function<void(std::int64_t step, std::span<const Tensor> fetched)>;

  PlanSession(Plan plan, const Cluster& cluster, SessionOptions options = {})
      : session_(std::move(plan), cluster, std::move(options)) {}

  [[nodiscard]] const Plan& plan() const {
    return session_.plan(RunRequest()).plan;
  }
  std::vector<Tensor> run(const FeedMap& feeds = {}, std::int64_t steps = 1, const OnStep& on_step = {}) {
    return session_.run(RunRequest{.feeds = feeds, .steps = steps, .on_step = on_step});
  }
  void restore(const TensorMap& variables) {
    session_.restore(variables);
  }
  [[nodiscard]] TensorMap variables() {
    return session_.variables();
  }
  [[nodiscard]] RunStats stats() {
    return session_.stats();
  }
  void close() {
    session_.close();
  }

 private:
  mutable Session session_;
};

}  // namespace ferry
#pragma GCC visibility pop

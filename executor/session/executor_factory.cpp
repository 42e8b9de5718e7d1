#include "executor/session/executor_factory.hpp"

namespace ferry {

std::unique_ptr<TaskExecutor> ExecutorFactory::make(const PlanCache::Planned& planned, WorkTimer* timer) const {
  ExecutorOptions options;
  options.trace = trace_;
  options.recorder = recorder_;
  options.turns = turns_;
  options.timer = timer;
  return make(planned, options);
}

std::unique_ptr<TaskExecutor> ExecutorFactory::make_measured(const PlanCache::Planned& planned) const {
  ExecutorOptions options;
  options.effects = false;
  return make(planned, options);
}

std::unique_ptr<TaskExecutor> ExecutorFactory::make(const PlanCache::Planned& planned, ExecutorOptions options) const {
  options.seed = options_.seed;
  options.data_folder = options_.data_folder;
  options.kernels = options_.kernels;
  options.devices = variables_.devices();
  options.device_kernels = kernels_.devices();
  groups_.join(planned.result.plan, member_.task(), options.devices, member_.transport(), member_.deadline());
  options.groups = &groups_;
  options.deadline = member_.cluster().options.deadline;
  options.clock = &member_.cluster().clock();
  options.position = member_.position();
  options.watch = member_.cluster().watch.get();
  options.plan_id = planned.fingerprint;
  options.check_numerics = options_.check_numerics;
  options.sync_gpu = options_.sync_gpu;
  const auto address = [this](std::string_view name) { return variables_.address(name); };
  return std::make_unique<TaskExecutor>(planned.result.plan, member_.task(), member_.transport(), workers_, address,
                                        options);
}

std::vector<Tensor> given_feeds(const Plan& plan, const TensorMap& feeds, int task) {
  std::vector<Tensor> given(plan.feeds.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (plan.feeds[i].task == task) given[i] = feeds.find(plan.string(plan.feeds[i].name))->second;
  return given;
}

}  // namespace ferry

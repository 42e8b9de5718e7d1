#include "bench/tasks/points_by_mpi.hpp"

namespace ferry::bench {

PointsByMpi::PointsByMpi(const std::string& pattern) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  for (std::int64_t number = 0; number < kPeriod; ++number) timesteps_.push_back(timestep(pattern, number));
  for (std::int64_t point = 0; point < kPoints; ++point) outputs_.push_back({-1, point});
  inputs_.assign(outputs_.size(), std::vector<Payload>(outputs_.size()));
  requests_.reserve(2 * outputs_.size() * outputs_.size());
}

PointsByMpi::Timestep PointsByMpi::timestep(const std::string& pattern, std::int64_t number) const {
  Timestep made;
  for (std::int64_t point = 0; point < kPoints; ++point) {
    made.before.push_back(points_before(pattern, number, point));
    const auto& before = made.before.back();
    for (std::size_t slot = 0; slot < before.size(); ++slot) {
      const Edge edge{before[slot], point, slot};
      const bool from_here = rank_of(edge.from) == rank_, to_here = rank_of(edge.to) == rank_;
      if (from_here && to_here) made.local.push_back(edge);
      if (to_here && !from_here) made.received.push_back(edge);
      if (from_here && !to_here) made.sent.push_back(edge);
    }
  }
  return made;
}

void PointsByMpi::exchange(const Timestep& timestep) {
  const auto at = [](auto& all, std::int64_t point) -> auto& {
    return all[point];
  };
  const auto tag = [](const Edge& edge) { return static_cast<int>(edge.from * kPoints + edge.to); };
  requests_.clear();
  for (const Edge& edge : timestep.received)
    MPI_Irecv(&at(inputs_, edge.to)[edge.slot], sizeof(Payload), MPI_BYTE, rank_of(edge.from), tag(edge),
              MPI_COMM_WORLD, &requests_.emplace_back());
  for (const Edge& edge : timestep.sent)
    MPI_Isend(&at(outputs_, edge.from), sizeof(Payload), MPI_BYTE, rank_of(edge.to), tag(edge), MPI_COMM_WORLD,
              &requests_.emplace_back());
  for (const Edge& edge : timestep.local) at(inputs_, edge.to)[edge.slot] = at(outputs_, edge.from);
  if (!requests_.empty()) MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

void PointsByMpi::run(std::int64_t timesteps, std::int64_t iterations) {
  for (std::int64_t k = 0; k < timesteps; ++k, ++now_) {
    const Timestep& timestep = timesteps_[now_ % kPeriod];
    exchange(timestep);
    for (std::size_t point = 0; point < outputs_.size(); ++point) {
      const auto number = static_cast<std::int64_t>(point);
      if (rank_of(number) != rank_) continue;
      const auto& before = timestep.before[point];
      for (std::size_t i = 0; i < before.size(); ++i) check_payload(inputs_[point][i], {now_ - 1, before[i]});
      compute(iterations);
      outputs_[point] = {now_, number};
    }
  }
}

}  // namespace ferry::bench

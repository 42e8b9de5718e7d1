// ferry inside an MPI program: over a part of the world, beside the program's own messages with the same tags, twice,
// and without finalizing MPI. For three ranks or more. Exits with 0, or says what was wrong.
#include <iostream>
#include <vector>

#include "executor/session/session.hpp"
#include "mpi.hpp"
#include "ops/math/math.hpp"

namespace {

using namespace ferry;

int wrongs = 0;

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "mpi_adopt: " << what << std::endl;
  ++wrongs;
}

void wait(Transport& end, Ticket ticket) {
  while (!end.done(ticket)) end.idle(std::chrono::milliseconds(1));
}

/// Posts receives for messages of the program's own, on tags 0 to 10 of `comm`, calls `between`, sends the messages
/// around a ring and checks them.
template <class F>
void with_own_traffic(MPI_Comm comm, F between) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<int> out(11), in(11, -1);
  std::vector<MPI_Request> requests(22);
  for (int tag = 0; tag <= 10; ++tag) {
    out[tag] = rank * 100 + tag;
    MPI_Irecv(&in[tag], 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, &requests[tag]);
  }
  between();
  for (int tag = 0; tag <= 10; ++tag) {
    MPI_Isend(&out[tag], 1, MPI_INT, (rank + 1) % size, tag, comm, &requests[11 + tag]);
  }
  MPI_Waitall(22, requests.data(), MPI_STATUSES_IGNORE);
  for (int tag = 0; tag <= 10; ++tag) require(in[tag] == (rank + size - 1) % size * 100 + tag, "own message changed");
}

void talk(Transport& end) {
  const int next = (end.task() + 1) % end.tasks(), before = (end.task() + end.tasks() - 1) % end.tasks();
  for (std::uint32_t channel = 0; channel <= 10; ++channel) {
    std::vector<std::byte> out(5000, static_cast<std::byte>(end.task() * 16 + static_cast<int>(channel))), in(5000);
    const Ticket receiving = end.receive(before, channel, in);
    wait(end, end.send(next, channel, out));
    wait(end, receiving);
    require(in.front() == static_cast<std::byte>(before * 16 + static_cast<int>(channel)), "ferry's message changed");
  }
}

/// The even ranks of the world are one job, the odd ones another.
void adopt_halves() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);  // in reverse order
  int rank_in_half = 0, size_of_half = 1;
  MPI_Comm_rank(half, &rank_in_half);
  MPI_Comm_size(half, &size_of_half);
  const auto end = mpi_transport_over(half);
  require(end->task() == rank_in_half && end->tasks() == size_of_half, "tasks are not the ranks of the communicator");
  with_own_traffic(half, [&] { talk(*end); });
  MPI_Comm_free(&half);
  talk(*end);  // the transport outlives the communicator
  end->close();
}

/// A session with the ranks of the world as tasks, while messages of the program are in flight.
void run_session() {
  const Cluster cluster = adopt(MPI_COMM_WORLD, {.threads = 1, .jobs = ""});
  cluster.barrier();
  Graph g;
  const Value a = g.constant({1, 2, 3}, on("/task:0"));
  const Value b = g.constant({10, 20, 30}, on("/task:1"));
  const auto there = g.device("/task:2");
  const Value c = a + b;
  Session session(g, cluster);
  with_own_traffic(MPI_COMM_WORLD, [&] {
    for (int step = 0; step < 5; ++step) {
      const auto fetched = session.run({c});
      require(cluster.rank() != 0 || fetched[0].str() == "[11 22 33]", "c is not a + b");
    }
  });
  session.close();
}

/// Collectives without a graph.
void call_directly() {
  const Cluster cluster = adopt(MPI_COMM_WORLD);
  const int rank = cluster.rank(), size = cluster.size();
  std::vector<float> sum(7);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = (rank % 2 == 0 ? 1e8F : 1.25F) * static_cast<float>(i + 1);
  cluster.all_reduce<float>(sum);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    float wanted = 0;
    for (int task = 0; task < size; ++task) wanted += (task % 2 == 0 ? 1e8F : 1.25F) * static_cast<float>(i + 1);
    require(sum[i] == wanted, "all_reduce is not the fold in task order");
  }
  std::vector<double> mean = {rank + 0.5, 3};
  cluster.all_reduce_mean<double>(mean);
  require(mean == std::vector<double>{(size - 1) / 2.0 + 0.5, 3}, "all_reduce_mean is not the sum over the tasks");
  require(cluster.local_rank() == rank && cluster.local_size() == size, "not all tasks are on this host");
  std::vector<std::int64_t> most = {rank, -rank};
  cluster.all_reduce<std::int64_t>(most, Reduce::max);
  require(most == std::vector<std::int64_t>{size - 1, 0}, "all_reduce max is wrong");
  std::vector<double> root = {rank + 0.5, rank + 0.25};
  cluster.broadcast<double>(root, size - 1);
  require(root == std::vector<double>{size - 0.5, size - 0.75}, "broadcast is wrong");
  const std::vector<std::int32_t> mine(static_cast<std::size_t>(rank), rank);
  std::vector<std::int32_t> wanted;
  for (int task = 0; task < size; ++task) wanted.insert(wanted.end(), static_cast<std::size_t>(task), task);
  require(cluster.all_gather<std::int32_t>(mine) == wanted, "all_gather is wrong");
}

std::string refusal_of(MPI_Comm comm) {
  try {
    (void)mpi_transport_over(comm);
  } catch (const Error& error) {
    require(error.code() == Code::usage, "another error than usage for a communicator that cannot be adopted");
    return error.what();
  }
  return "";
}

/// What is no communicator of one group is refused before ferry calls MPI with it.
void refuse_other_communicators() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  require(refusal_of(MPI_COMM_NULL).find("MPI_COMM_NULL") != std::string::npos, "MPI_COMM_NULL was adopted");
  MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
  MPI_Comm_set_name(between, "between halves");
  require(refusal_of(between).find(
              "\"between halves\" is an intercommunicator, between groups of 2 ranks and 2 ranks") != std::string::npos,
          "an intercommunicator was adopted");
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    (void)mpi_transport_over(MPI_COMM_WORLD);
    require(false, "MPI was adopted before it ran");
  } catch (const Error& error) {
    require(error.code() == Code::usage, "another error than usage before MPI ran");
  }
  MPI_Init(&argc, &argv);
  try {
    refuse_other_communicators();
    adopt_halves();
    const auto end = mpi_transport_over(MPI_COMM_WORLD);
    with_own_traffic(MPI_COMM_WORLD, [&] { talk(*end); });
    end->close();
    run_session();
    call_directly();
  } catch (const Error& error) {  // messages may be under way still, so the program cannot go on
    require(false, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int finalized = 1;
  MPI_Finalized(&finalized);
  require(finalized == 0, "ferry finalized MPI");
  with_own_traffic(MPI_COMM_WORLD, [] {});
  MPI_Finalize();
  return wrongs == 0 ? 0 : 1;
}

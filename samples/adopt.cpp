// ferry inside an MPI program: its tasks are the ranks of a communicator. The program's own messages, here with tags 0
// to 10, are in flight while ferry runs, and neither disturbs the other. The program finalizes MPI.
//
//     mpirun -np 3 build/samples/adopt
#include <ferry/ferry.hpp>
#include <ferry/mpi.hpp>

#include <iostream>
#include <vector>

namespace {

constexpr int kTags = 11;

/// The program's own messages: each rank sends a number on each tag to the next rank, in a ring.
class Ring {
 public:
  Ring() : sent_(kTags), received_(kTags), requests_(2 * kTags) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    for (int tag = 0; tag < kTags; ++tag)
      MPI_Irecv(&received_[tag], 1, MPI_INT, before(), tag, MPI_COMM_WORLD, &requests_[tag]);
  }
  void send() {
    for (int tag = 0; tag < kTags; ++tag) {
      sent_[tag] = 100 * rank_ + tag;
      MPI_Isend(&sent_[tag], 1, MPI_INT, (rank_ + 1) % size_, tag, MPI_COMM_WORLD, &requests_[kTags + tag]);
    }
  }
  /// Waits for all messages. Returns how many numbers arrived as the previous rank sent them.
  int finish() {
    MPI_Waitall(2 * kTags, requests_.data(), MPI_STATUSES_IGNORE);
    int right = 0;
    for (int tag = 0; tag < kTags; ++tag) right += received_[tag] == 100 * before() + tag ? 1 : 0;
    return right;
  }

  [[nodiscard]] int rank() const { return rank_; }

 private:
  [[nodiscard]] int before() const { return (rank_ + size_ - 1) % size_; }

  int rank_ = 0, size_ = 1;
  std::vector<int> sent_, received_;
  std::vector<MPI_Request> requests_;
};

/// The sum of the squares of 0 … 99 over all ranks (0 except on rank 0). The cluster ends here, before MPI does.
double sum_of_squares() {
  const auto cluster = ferry::adopt(MPI_COMM_WORLD);
  ferry::Tensor numbers(ferry::DType::float32, {100});
  float next = 0;
  for (float& number : numbers.mutable_data<float>()) number = next++;
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("ranks"));
  const ferry::Value x = g.constant(numbers).laid({ferry::split(0)});
  ferry::Session session(g, cluster);
  const ferry::Tensor total = session.run({ferry::sum(ferry::square(x))})[0];
  return cluster.rank() == 0 ? total.number(0) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Ring ring;                                // the receives are posted …
  ring.send();                              // … the messages are under way …
  const double squares = sum_of_squares();  // … ferry computes …
  int right = ring.finish(), fewest = 0;    // … and the messages arrive intact.
  MPI_Reduce(&right, &fewest, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (ring.rank() == 0)
    std::cout << "ferry: sum of squares " << squares << "\nMPI: " << fewest << " of " << kTags
              << " own messages as they were sent, on every rank\n";
  MPI_Finalize();
}

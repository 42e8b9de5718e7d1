// The process manager interface (PMI) of launchers: the mpiexec of MPICH and Intel MPI, and srun --mpi=pmi2. Through it
// the processes of a job exchange short texts before they know one another's addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/net/socket.hpp"

namespace ferry::tcp {

/// The connection of this process to its launcher. It uses version 1.1 of the protocol, which servers of version 2 also
/// support. The processes of a job put texts, wait for one another at a fence, and then get what others have put. Used
/// by one thread at a time. All functions throw Error(usage) when the launcher refuses, Error(peer_lost) when it has
/// closed the connection, and Error(stalled) at the deadline.
///
///     Pmi& pmi = Pmi::here(deadline);
///     if (task == 0) pmi.put("address", "10.0.0.1:29500", deadline);
///     pmi.fence(deadline);
///     const auto address = pmi.get("address", deadline);
class Pmi {
 public:
  /// The connection. The first call makes it, and it ends with the process.
  static Pmi& here(const Deadline& deadline);
  Pmi(const Pmi&) = delete;
  Pmi& operator=(const Pmi&) = delete;

  /// `text` has at most 1,000 characters, no line break and no tilde.
  void put(std::string_view key, std::string text, const Deadline& deadline);
  /// Returns once all processes of the job have called it.
  void fence(const Deadline& deadline);
  /// The text of `key`; nothing if no process put it before the last fence.
  [[nodiscard]] std::optional<std::string> get(std::string_view key, const Deadline& deadline);

  /// The goodbye. The launcher ends the job if a process exits without it.
  void finalize(const Deadline& deadline);
  /// Makes the launcher end all processes of the job, and exit with `code`.
  void abort(int code, const Deadline& deadline);

 private:
  explicit Pmi(const Deadline& deadline);
  std::string ask(const std::string& command, const Deadline& deadline);
  void send(const std::string& command, const Deadline& deadline);
  std::string line(const Deadline& deadline);

  net::Socket socket_;
  std::string space_;  // the name of the job's key-value space
};

/// The part of this process in the job that it joins by PMI. An exit with an error ends the other processes, except
/// after `left`.
enum class Standing {
  outside,  ///< has not joined yet: the others may wait for it without a deadline, in MPI_Init
  inside,
  left  ///< has closed its end of the job, which had not failed
};
void set_standing(Standing standing);

/// Returns task 0's `mine` on all tasks of the job. All tasks call it.
[[nodiscard]] std::string broadcast_from_task_0(int task, const std::string& mine, const Deadline& deadline);

}  // namespace ferry::tcp

// The errors about failed and missing tasks, in the same words for every transport.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/transport.hpp"

namespace ferry {

/// The error that the functions of a Transport throw after the job has failed: an Error(peer_lost) that names the task
/// that failed first, and the reason. Its job_code() is the failure's code.
[[nodiscard]] Error error_of(const Failure& failure);

/// The text of a failure with `unreached_by`: "the connection from task 0 to task 4 is lost: …". `from` is the name of
/// the task `unreached_by`, `to` the name of the failure's task.
[[nodiscard]] std::string lost_connection_text(const std::string& from, const std::string& to, const Failure& failure);

/// "task 3", "tasks 1, 3 and 4".
[[nodiscard]] std::string tasks_text(std::span<const int> tasks);

/// The error of an exchange that could not complete because some tasks did not come in time, or have left.
class AbsentError : public Error {
 public:
  AbsentError(Error error, std::span<const int> tasks) : Error(std::move(error)), tasks_(tasks.begin(), tasks.end()) {}
  [[nodiscard]] const std::vector<int>& tasks() const { return tasks_; }

 private:
  std::vector<int> tasks_;
};

/// Error(stalled): `missing` did not come to an exchange of `tasks` tasks before its deadline.
[[nodiscard]] AbsentError missing_error(std::span<const int> missing, int tasks);

/// Error(peer_lost): `gone` have closed their ends, so that `what` can never complete.
[[nodiscard]] AbsentError closed_error(std::span<const int> gone, std::string_view what = "exchange");

/// Converts a failure to bytes and back, for transports that send it. unpack_failure() returns nothing if there are too
/// few bytes.
[[nodiscard]] std::string pack_failure(const Failure& failure);
[[nodiscard]] std::optional<Failure> unpack_failure(std::string_view bytes);

/// Error(bug): the two ends of a message have different sizes.
[[nodiscard]] Error size_error(int from, int to, std::uint32_t channel, std::size_t sent, std::size_t expected);

}  // namespace ferry

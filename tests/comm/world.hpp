// Jobs for the transport tests. The suite is written once; each program that runs it links a file that makes its kind
// of job (inproc_world.cpp: threads of one process, mpi_world.cpp: the processes that mpirun started, and others).
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/transport.hpp"

namespace ferry::test {

/// Runs `body` on every task of new jobs: where threads stand for tasks, of jobs of several sizes; under MPI, on the
/// tasks of this process. A body that throws ends its job. With `closes`, closes the ends after the body.
void on_jobs(const std::function<void(Transport&)>& body, bool closes = true);

inline Deadline seconds(int n) {
  return {system_clock(), std::chrono::seconds(n)};
}

/// Returns when `ticket` is done; Error(stalled) after 20 s.
inline void finish(Transport& end, Ticket ticket) {
  const Deadline deadline = seconds(20);
  while (!end.done(ticket)) {
    if (deadline.expired()) throw Error(Code::stalled, "a message did not arrive");
    end.idle(std::chrono::milliseconds(10));
  }
}

/// Bytes that differ for each sender, receiver, channel and number of the message.
inline std::vector<std::byte> message(int from, int to, std::uint32_t channel, int number, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  std::uint32_t state = static_cast<std::uint32_t>(from * 31 + to * 17 + number * 7 + 1) + channel * 101;
  for (std::byte& byte : data) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return data;
}

/// The error that `f` throws; none if it does not.
template <class F>
std::optional<Error> error_in(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace ferry::test

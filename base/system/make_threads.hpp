// make_threads: threads that are made together, all or none.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace ferry {

/// Makes `count` threads, which run body(0) … body(count - 1), into the empty `threads`. When the system has no more of
/// them, or no memory: calls stop(), which ends those made and joins them, since one that is destroyed unjoined ends
/// the process; then throws what refusal(how many were made, why) gives.
template <class Body, class Stop, class Refusal>
void make_threads(std::vector<std::thread>& threads, std::size_t count, const Body& body, const Stop& stop,
                  const Refusal& refusal) {
  threads.reserve(count);
  try {
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  } catch (const std::exception& error) {  // std::system_error or std::bad_alloc
    const std::size_t made = threads.size();
    stop();
    const Error refused = refusal(made, error.what());
    throw refused;
  }
}

}  // namespace ferry

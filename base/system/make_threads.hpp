// make_threads: starts several threads, either all or none.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace ferry {

/// Why no thread could be made, for a message.
inline std::string thread_refusal(const std::exception& error) {
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  const bool forbidden = system != nullptr && system->code() == std::errc::operation_not_permitted;
  return std::string(error.what()) +
         (forbidden ? " (a sandbox forbids clone3: it must allow it, or refuse it by ENOSYS)" : "");
}

/// Starts `count` threads, which run body(0) … body(count - 1), in `threads`, which must be empty. If the system has no
/// more threads or memory, the function calls stop() and throws the Error that refusal(number of threads made, reason)
/// returns. The callback stop() must end and join the threads made so far, because destroying an unjoined thread would
/// end the process.
template <class Body, class Stop, class Refusal>
void make_threads(std::vector<std::thread>& threads, std::size_t count, const Body& body, const Stop& stop,
                  const Refusal& refusal) {
  threads.reserve(count);
  try {
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  } catch (const std::exception& error) {  // std::system_error or std::bad_alloc
    const std::size_t made = threads.size();
    stop();
    const Error refused = refusal(made, thread_refusal(error));
    throw refused;
  }
}

}  // namespace ferry

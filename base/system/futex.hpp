// Futexes: a thread sleeps on a word of memory until another thread or process wakes it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ferry {

/// The threads that may sleep on a word: only threads of this process, which costs less, or threads of all processes
/// that share its memory.
enum class Sleepers { of_this_process, of_all_processes };

/// If `word` is `value`, sleeps until woken, at most for `at_most` (and an hour); may return early for no reason.
/// Thread-safe.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::microseconds at_most,
                Sleepers sleepers) noexcept;

/// Wakes one thread that sleeps on `word`, or all. Thread-safe.
void futex_wake_one(std::atomic<std::uint32_t>& word, Sleepers sleepers) noexcept;
void futex_wake_all(std::atomic<std::uint32_t>& word, Sleepers sleepers) noexcept;

}  // namespace ferry

// The settings of floating-point arithmetic on the calling thread: rounding, signals (traps), subnormal numbers, and
// the flags of the exceptions that were raised. A program may change them; ferry computes with those that C++ programs
// begin with, so that results have the same bits on all threads and tasks.
//
//     const DefaultFloats floats;   // until the end of the block ferry computes
//     …
//     const ProgramFloats theirs;   // until the end of this block a function of the program does
#pragma once

#include <cfenv>
#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// While one lives, this thread rounds to nearest, keeps subnormal numbers, and raises no SIGFPE. Afterwards the
/// settings and flags are as they were before. Threads that are made meanwhile begin with the default. They may be
/// nested. If the program has changed nothing, one costs some 5 ns.
class DefaultFloats {
 public:
  DefaultFloats() noexcept;
  ~DefaultFloats();
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  friend class ProgramFloats;
  std::uint32_t control_;                 ///< of the processor's vector unit
  std::fenv_t before_;                    ///< only where the program has changed something
  const DefaultFloats* outer_ = nullptr;  ///< of those only
};

/// During its lifetime, this thread has the settings from before its innermost DefaultFloats.
class ProgramFloats {
 public:
  ProgramFloats() noexcept;
  ~ProgramFloats();
  ProgramFloats(const ProgramFloats&) = delete;
  ProgramFloats& operator=(const ProgramFloats&) = delete;

 private:
  bool changed_;
  std::fenv_t of_ferry_;
};

}  // namespace ferry
#pragma GCC visibility pop

// Descriptor: an open file, pipe or socket.
#pragma once

#include <cerrno>
#include <utility>

#pragma GCC visibility push(default)
namespace ferry {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool open() const noexcept { return number_ >= 0; }
  /// Returns false, and sets errno, if the system could not close the descriptor cleanly. Written data may be lost
  /// then.
  bool close() noexcept;

 private:
  int number_ = -1;
};

/// Calls a system call again when a signal interrupts it, and returns its result. It gives up after 10,000 calls, so
/// that a system that always reports an interruption causes an error rather than an endless loop.
template <class F>
auto call_again(F call) {
  constexpr int kMostCalls = 10'000;
  auto result = call();
  for (int i = 1; i < kMostCalls && result < 0 && errno == EINTR; ++i) result = call();
  return result;
}

/// Opens /dev/null in place of stdin, stdout and stderr if they are closed, so that no later file or pipe gets their
/// numbers. Call it at the start of a program.
void open_standard() noexcept;

/// Moves stdin, stdout or stderr (`number` 0, 1 or 2) to a new descriptor, which started programs do not inherit, and
/// opens /dev/null in its place. Error(resource) if the system has no more descriptors.
[[nodiscard]] Descriptor take_standard(int number);

}  // namespace ferry
#pragma GCC visibility pop

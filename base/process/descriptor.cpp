#include "base/process/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace ferry {

bool Descriptor::close() noexcept {
  const int number = std::exchange(number_, -1);
  return number < 0 || ::close(number) == 0;
}

void open_standard() noexcept {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // open() returns the lowest free number.
    if (fcntl(number, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;
}

Descriptor take_standard(int number) {
  Descriptor taken(fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (taken.open() && nothing.open() && dup2(nothing.get(), number) == number) return taken;
  throw Error(Code::resource, "descriptor {} cannot be moved: {}", number, std::strerror(errno))
      .hint("a higher limit: ulimit -n");
}

}  // namespace ferry

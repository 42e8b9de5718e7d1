// Two threads write one integer without a lock: ThreadSanitizer must end this with an error.
#include <thread>

int main() {
  int shared = 0;
  std::thread other([&] { shared = 1; });
  shared = 2;
  other.join();
  return 0;
}

// Reads freed memory: AddressSanitizer must end this with an error.
#include <memory>

int main() {
  auto owner = std::make_unique<int>(0);
  const volatile int* stale = owner.get();
  owner.reset();
  return *stale == 12345 ? 2 : 0;
}

// Overflows a signed integer: UndefinedBehaviorSanitizer must end this with an error.
#include <limits>

int main(int argc, char**) {
  volatile int largest = std::numeric_limits<int>::max();
  const int sum = largest + argc;
  return sum == 12345 ? 2 : 0;
}

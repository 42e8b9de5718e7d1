// A library with a destructor that takes some time, so that threads still run when the destructors of other libraries
// are done.
#include <unistd.h>

[[gnu::destructor]] static void end_slowly() {
  usleep(200'000);
}

#include "base/random_bytes.hpp"

#include <random>
#include <string>

#include "base/error.hpp"

namespace ferry {

void fill_at_random(std::span<std::byte> bytes) try {
  std::random_device random;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
} catch (const std::exception& error) {
  throw Error(Code::resource, std::string("the system gives no random bytes: ") + error.what());
}

}  // namespace ferry

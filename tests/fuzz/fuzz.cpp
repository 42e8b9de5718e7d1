#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ferry::test {
namespace {

constexpr std::size_t kScreen = 4000;

}  // namespace

Outcome outcome_of(const std::function<bool()>& read, std::initializer_list<Code> refusals) {
  try {
    if (read()) return Outcome::taken;
  } catch (const Error& error) {
    if (std::find(refusals.begin(), refusals.end(), error.code()) != refusals.end() && error.text().size() < kScreen)
      return Outcome::refused;
    std::printf("code %d: %s\n", static_cast<int>(error.code()), error.what());
  } catch (const std::exception& error) {
    std::printf("an exception: %s\n", error.what());
  }
  return Outcome::wrong;
}

int fuzz(const char* first_text, const char* count_text, const std::vector<std::string>& files,
         google::protobuf::Message& message, const std::function<Outcome()>& judge) {
  const std::uint64_t first = std::strtoull(first_text, nullptr, 10);
  const std::uint64_t count = std::strtoull(count_text, nullptr, 10);
  std::uint64_t taken = 0, wrong = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Dice dice(seed);
    FERRY_ASSERT(message.ParseFromString(dice.of(files)), "a seed is a good file");
    mutate(message, dice);
    const Outcome outcome = judge();
    if (outcome == Outcome::wrong) std::printf("  of seed %llu\n", static_cast<unsigned long long>(seed));
    taken += outcome == Outcome::taken ? 1 : 0;
    wrong += outcome == Outcome::wrong ? 1 : 0;
  }
  std::printf("%llu files, %llu taken, %llu wrong\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(taken), static_cast<unsigned long long>(wrong));
  return wrong == 0 && taken > 0 && taken < count ? 0 : 1;
}

}  // namespace ferry::test

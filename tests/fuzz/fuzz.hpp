// What all fuzzers share: seeds in turn, each a good file changed at random, and what becomes of it.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/fuzz/mutate.hpp"

namespace ferry::test {

enum class Outcome { refused, taken, wrong };

/// `read` takes a file (then it says whether all is well with what it took) or throws an Error of one of these codes,
/// of one screen. Any other exception is wrong; that is printed.
[[nodiscard]] Outcome outcome_of(const std::function<bool()>& read, std::initializer_list<Code> refusals);

/// FUZZER … FIRST COUNT: for each seed a random one of `files`, read into `message`, mutated and handed to `judge`.
/// Prints the seeds that are wrong, and a count. Gives the exit code: 0 when none is wrong, some are taken and some
/// not.
[[nodiscard]] int fuzz(const char* first, const char* count, const std::vector<std::string>& files,
                       google::protobuf::Message& message, const std::function<Outcome()>& judge);

}  // namespace ferry::test

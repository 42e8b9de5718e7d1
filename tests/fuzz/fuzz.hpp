// What the fuzzers of protobuf files share: for each seed a good file is changed at random, and its reader is judged.
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

/// Calls `read`, which takes a file and returns whether its content is right, or throws. An Error with one of the codes
/// `refusals` and a text of at most one screen is `refused`. False and any other exception are `wrong`; the exception
/// is printed.
[[nodiscard]] Outcome outcome_of(const std::function<bool()>& read, std::initializer_list<Code> refusals);

/// For each of `count` seeds from `first` on (numbers as text), parses a random one of `files` into `message`, mutates
/// it, and calls `judge`. Prints the seeds that are wrong, and a count. Gives the exit code: 0 when none is wrong, some
/// are taken and some are not.
[[nodiscard]] int fuzz(const char* first, const char* count, const std::vector<std::string>& files,
                       google::protobuf::Message& message, const std::function<Outcome()>& judge);

}  // namespace ferry::test

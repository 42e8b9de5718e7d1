// What a call throws, for tests of messages.
#pragma once

#include <doctest/doctest.h>

#include <string_view>

#include "base/error.hpp"

namespace ferry::test {

/// The ferry::Error that `call` throws; an Error of Code::ok, "nothing was thrown", when it returns. Other exceptions
/// pass through.
template <typename Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {Code::ok, "nothing was thrown"};
}

/// Whether `part` is in the error's text; a test's log shows the text when it is not.
inline bool says(const Error& error, std::string_view part) {
  const bool found = error.text().find(part) != std::string_view::npos;
  if (!found) MESSAGE("not in: ", error.text());
  return found;
}

}  // namespace ferry::test

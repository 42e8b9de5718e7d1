// What a call throws, for tests of messages.
#pragma once

#include "base/error.hpp"

namespace ferry::test {

/// The ferry::Error that `call` throws; Code::ok, "nothing was thrown" when it returns. Other exceptions pass.
template <typename Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {Code::ok, "nothing was thrown"};
}

}  // namespace ferry::test

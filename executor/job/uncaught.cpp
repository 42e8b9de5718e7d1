#include "executor/job/uncaught.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "base/system/log.hpp"
#include "comm/backends.hpp"
#include "executor/job/launch.hpp"

namespace ferry {
namespace {

/// Whether this process has been part of a job.
std::atomic<bool> has_job{false};
std::terminate_handler handler_before = nullptr;

[[noreturn]] void end_with_exception() {
  Code code = Code::bug;
  std::string text = "terminated";
  bool told = false;
  if (const auto thrown = std::current_exception()) {
    const Error error = as_error(thrown, Code::program, "the program");
    text = error.text();
    code = error.job_code();
    told = error.is_told_elsewhere();
  }
  if (!told) log_error(text);
  leave_tcp(code, text, !told);
  leave_mpi(code, text, !told);
  leave_pmi(code);
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}

[[noreturn]] void end_with_uncaught_exception() {
  if (has_job) end_with_exception();
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const Error& error) {
    static_cast<void>(let_task_0_print(error));
    end_with_exception();
  } catch (...) {
  }
  handler_before();
  std::abort();
}

[[maybe_unused]] const bool kFromTheStart = [] {
  handler_before = std::set_terminate(end_with_uncaught_exception);
  return true;
}();

}  // namespace

void end_with_uncaught() noexcept {
  has_job = true;
}

}  // namespace ferry

// Errors: part of ferry's interface. Every recoverable failure is a ferry::Error. It carries the exit code of the
// `ferry` command, and one screen of text: what failed, where, why, and what to do.
//
//     throw Error(Code::plan, "matmul: inner sizes differ: {} and {}", 3, 4).at(line).hint("transpose the second");
//
// A bug in ferry itself is an assertion (FERRY_ASSERT), which ends as Code::bug.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/source_location.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The kinds of failures; the values are the exit codes of the `ferry` command (docs/reference/exit_codes.md).
enum class Code : int {
  ok = 0,
  conformance = 1,   ///< conformance cases failed
  usage = 2,         ///< usage or configuration: options, feeds, fetches, launch
  file = 3,          ///< a bad file
  plan = 4,          ///< the graph cannot be planned or placed
  peer_lost = 5,     ///< another task ended or failed
  stalled = 6,       ///< no progress for the deadline
  resource = 7,      ///< memory, disk, descriptors, threads
  numeric = 8,       ///< NaN or Inf where checked
  bug = 9,           ///< a bug in ferry
  program = 10,      ///< the user's program: what its own code threw, or a value that its graph computed
  preempted = 75,    ///< preempted, with its checkpoint saved
  interrupted = 130  ///< stopped by Ctrl-C or SIGTERM
};

/// A line of the user's program. An empty `file` means that it is unknown.
struct SourceLine {
  std::string file;
  int line = 0;

  SourceLine() = default;
  SourceLine(std::string_view f, int l) : file(f), line(l) {}
  SourceLine(const source_location& at) : file(at.file_name()), line(static_cast<int>(at.line())) {}  // NOLINT
  [[nodiscard]] bool known() const { return !file.empty(); }
  /// "file:line", or "" when unknown.
  [[nodiscard]] std::string str() const;
  bool operator==(const SourceLine&) const = default;
};

/// A recoverable failure. It is built in one expression: each call adds a line to the text. A text without arguments is
/// used as it is; a format with arguments is formatted (base/format.hpp).
///
///     try {
///       Value wrong = matmul(x, x);
///     } catch (const Error& error) {
///       std::cerr << error.text() << "\n";
///       return static_cast<int>(error.code());
///     }
class Error : public std::exception {
 public:
  /// `message` is one line: the failed function or command, and the values at fault.
  Error(Code code, std::string message) : code_(code), job_code_(code), text_(std::move(message)) {}
  template <class First, class... Others>
  Error(Code code, Format<First, Others...> format, const First& first, const Others&... others)
      : Error(code, formatted(format, first, others...)) {}

  /// Adds the user's line: "  at model.cpp:12". Adds nothing if the line is unknown.
  Error& at(const SourceLine& line) &;
  Error&& at(const SourceLine& line) && { return std::move(at(line)); }

  /// Adds a suggestion: "  try: …".
  Error& hint(std::string_view what) &;
  Error&& hint(std::string_view what) && { return std::move(hint(what)); }
  template <class First, class... Others>
  Error& hint(Format<First, Others...> format, const First& first, const Others&... others) & {
    return hint(formatted(format, first, others...));
  }
  template <class First, class... Others>
  Error&& hint(Format<First, Others...> format, const First& first, const Others&... others) && {
    return std::move(hint(formatted(format, first, others...)));
  }

  /// Adds a line of detail, indented.
  Error& note(std::string_view what) &;
  Error&& note(std::string_view what) && { return std::move(note(what)); }
  template <class First, class... Others>
  Error& note(Format<First, Others...> format, const First& first, const Others&... others) & {
    return note(formatted(format, first, others...));
  }
  template <class First, class... Others>
  Error&& note(Format<First, Others...> format, const First& first, const Others&... others) && {
    return std::move(note(formatted(format, first, others...)));
  }

  /// Sets job_code(), for an error that only echoes a failure elsewhere.
  Error& ends_job_with(Code code) & {
    job_code_ = code;
    return *this;
  }
  Error&& ends_job_with(Code code) && { return std::move(ends_job_with(code)); }

  /// Marks an error that another task of the job prints, where all tasks print to one place.
  Error& told_elsewhere() {
    told_ = true;
    return *this;
  }
  /// Whether told_elsewhere() was called.
  [[nodiscard]] bool is_told_elsewhere() const noexcept { return told_; }

  /// The kind of the failure.
  [[nodiscard]] Code code() const noexcept { return code_; }
  /// The exit code of a process that ends with this error: code(), except that all tasks of a job end with the code of
  /// the task that failed first. So if code() is peer_lost, it is that task's code.
  [[nodiscard]] Code job_code() const noexcept { return job_code_; }
  /// The message, with the lines that at(), hint() and note() have added.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  Code code_, job_code_;
  bool told_ = false;
  std::string text_;
};

/// Makes an Error of what was thrown: an Error stays as it is, std::bad_alloc becomes Code::resource, and anything else
/// becomes `code` with "`who` threw: what()".
[[nodiscard]] Error as_error(const std::exception_ptr& thrown, Code code, std::string_view who);

/// Thrown by FERRY_ASSERT: a bug in ferry, exit code 9.
[[noreturn]] void assertion_failed(const char* condition, std::string_view message,
                                   source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop

/// Throws by assertion_failed() unless the condition holds, which a correct ferry guarantees whatever the input.
/// Checked in every build.
#define FERRY_ASSERT(condition, message) \
  ((condition) ? static_cast<void>(0) : ::ferry::assertion_failed(#condition, message))

#include "base/error.hpp"

#include <new>

namespace ferry {

std::string SourceLine::str() const {
  return known() ? file + ":" + std::to_string(line) : std::string();
}

Error& Error::at(const SourceLine& line) & {
  if (line.known()) text_ += "\n  at " + line.str();
  return *this;
}

Error& Error::hint(std::string_view what) & {
  text_.append("\n  try: ").append(what);
  return *this;
}

Error& Error::note(std::string_view what) & {
  text_.append("\n  ").append(what);
  return *this;
}

Error as_error(const std::exception_ptr& thrown, Code code, std::string_view who) {
  constexpr std::size_t kShown = 2000;  // bytes: about one screen
  const std::string threw = std::string(who) + " threw: ";
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    if (error.code() == Code::ok) return {code, threw + error.text()};  // thrown, so not a success
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Code::resource, "out of memory")
        .hint("a host with more memory, or a higher limit (ulimit -v; ferry doctor prints the limits)");
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return {code, threw + (text.size() <= kShown ? text : text.substr(0, kShown) + " …")};
  } catch (...) {
    return {code, threw + "something that is no std::exception"};
  }
}

void assertion_failed(const char* condition, std::string_view message, source_location at) {
  throw Error(Code::bug, "a bug in ferry: " + std::string(message))
      .note(std::string("violated: ") + condition)
      .at(at)
      .hint("report this with the graph that caused it");
}

}  // namespace ferry

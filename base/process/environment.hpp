// Reads and sets variables of the process's environment.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace ferry {

/// The value of a variable; empty if it is not set.
[[nodiscard]] inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// Sets a variable of the environment while the object exists, for a library that reads the variable. The destructor
/// restores the earlier value. Not thread-safe, as setenv is not.
class EnvironmentSetting {
 public:
  EnvironmentSetting(const char* name, const char* value) : name_(name) {
    if (const char* const set = std::getenv(name)) before_ = set;
    setenv(name, value, 1);
  }
  ~EnvironmentSetting() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  EnvironmentSetting(const EnvironmentSetting&) = delete;
  EnvironmentSetting& operator=(const EnvironmentSetting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace ferry

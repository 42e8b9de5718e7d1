// ObjectCode: a relocatable ELF object for x86-64, loaded into memory and ready to run.
#pragma once

#include <cstddef>
#include <string_view>

namespace ferry {

/// The code of one function, from an object that needs no other code. Immutable; thread-safe.
///
///     const ObjectCode code(bytes, "add");
///     const auto add = reinterpret_cast<int (*)(int, int)>(code.function());
class ObjectCode {
 public:
  /// Copies the sections into memory that is then executable and read-only. Error(resource) if `object` is damaged,
  /// lacks the global function `name`, or needs other code, or if the system grants no executable memory.
  ObjectCode(std::string_view object, std::string_view name);
  ~ObjectCode();
  ObjectCode(const ObjectCode&) = delete;
  ObjectCode& operator=(const ObjectCode&) = delete;

  [[nodiscard]] void* function() const { return function_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  void* function_ = nullptr;
};

}  // namespace ferry

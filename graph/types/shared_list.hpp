// SharedList: a short list with copy on write.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// A copy-on-write list: copies share one buffer until one of them is changed. An empty list has no buffer. So a copy
/// allocates nothing, and a list compares with its copy in constant time. Different threads may use different
/// SharedList objects, even if these share a buffer.
template <class T>
class SharedList {
 public:
  using value_type = T;
  using const_iterator = const T*;

  SharedList() = default;
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}
  SharedList(std::vector<T> items)  // NOLINT: implicit
      : items_(items.empty() ? nullptr : std::make_shared<std::vector<T>>(std::move(items))) {}

  [[nodiscard]] const std::vector<T>& vector() const {
    static const std::vector<T> kNone;
    return items_ == nullptr ? kNone : *items_;
  }
  operator const std::vector<T>&() const { return vector(); }  // NOLINT
  [[nodiscard]] std::size_t size() const { return items_ == nullptr ? 0 : items_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const T* data() const { return items_ == nullptr ? nullptr : items_->data(); }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size(); }
  [[nodiscard]] const T& operator[](std::size_t i) const { return (*items_)[i]; }

  /// The list, for changing it. Copies the buffer first if other lists share it.
  [[nodiscard]] std::vector<T>& own() {
    if (items_ == nullptr || items_.use_count() > 1) items_ = std::make_shared<std::vector<T>>(vector());
    return *items_;
  }

  bool operator==(const SharedList& other) const { return items_ == other.items_ || vector() == other.vector(); }

 private:
  std::shared_ptr<std::vector<T>> items_;  // null: empty
};

}  // namespace ferry
#pragma GCC visibility pop

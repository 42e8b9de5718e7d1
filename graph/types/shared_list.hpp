// SharedList: a short list that many hold and few change.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace ferry {

/// A list whose copies share one memory; an empty one has none. So a copy costs no allocation, and equal lists that are
/// copies of one another compare at once. Different lists may be used by different threads, also when they share.
template <class T>
class SharedList {
 public:
  using value_type = T;
  using const_iterator = const T*;

  SharedList() = default;
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}
  SharedList(std::vector<T> items)  // NOLINT: a list is what its elements are
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

  /// The list, to be changed: it shares its memory with no other any more.
  [[nodiscard]] std::vector<T>& own() {
    if (items_ == nullptr || items_.use_count() > 1) items_ = std::make_shared<std::vector<T>>(vector());
    return *items_;
  }

  bool operator==(const SharedList& other) const { return items_ == other.items_ || vector() == other.vector(); }

 private:
  std::shared_ptr<std::vector<T>> items_;  // null: empty
};

}  // namespace ferry

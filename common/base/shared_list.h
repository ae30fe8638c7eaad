#ifndef TANGRAM_COMMON_BASE_SHARED_LIST_H_
#define TANGRAM_COMMON_BASE_SHARED_LIST_H_

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "common/base/shared.h"

namespace tangram {

// A list that all copies share and nobody changes, for reading like a
// std::vector. To change it, assign another list.
template <typename T>
class SharedList {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;
  using iterator = const_iterator;

  SharedList() = default;
  SharedList(std::vector<T> list)  // NOLINT(google-explicit-constructor)
      : list_(std::move(list)) {}
  SharedList(std::initializer_list<T> list) : list_(std::vector<T>(list)) {}

  const std::vector<T>& list() const { return *list_; }
  const_iterator begin() const { return list().begin(); }
  const_iterator end() const { return list().end(); }
  const T* data() const { return list().data(); }
  size_t size() const { return list().size(); }
  bool empty() const { return list().empty(); }
  const T& operator[](size_t index) const { return list()[index]; }

  bool operator==(const SharedList&) const = default;

 private:
  Shared<std::vector<T>> list_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_SHARED_LIST_H_

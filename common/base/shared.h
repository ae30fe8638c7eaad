#ifndef TANGRAM_COMMON_BASE_SHARED_H_
#define TANGRAM_COMMON_BASE_SHARED_H_

#include <memory>
#include <utility>

namespace tangram {

// A value that all copies share, so a copy costs a pointer. For large values
// that many hold and few change. Thread-safe as a value of T is.
template <typename T>
class Shared {
 public:
  Shared() = default;
  // Conversions are implicit: it stands for its value.
  Shared(T value)  // NOLINT(google-explicit-constructor)
      : value_(std::make_shared<const T>(std::move(value))) {}
  operator const T&() const {  // NOLINT(google-explicit-constructor)
    return **this;
  }

  const T& operator*() const { return value_ == nullptr ? Default() : *value_; }
  const T* operator->() const { return &**this; }

  // Takes a copy of the value for itself alone, to be changed. Other copies
  // made before keep theirs.
  T& MakeOwn() {
    auto own = std::make_shared<T>(**this);
    value_ = own;
    return *own;
  }

  bool operator==(const Shared& other) const {
    return value_ == other.value_ || **this == *other;
  }

 private:
  static const T& Default() {
    static const T value;
    return value;
  }

  std::shared_ptr<const T> value_;  // Null: T().
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_SHARED_H_

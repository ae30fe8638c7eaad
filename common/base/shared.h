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
  Shared() : Shared(T()) {}
  // Conversions are implicit: it stands for its value.
  Shared(T value)  // NOLINT(google-explicit-constructor)
      : value_(std::make_shared<const T>(std::move(value))) {}
  operator const T&() const {  // NOLINT(google-explicit-constructor)
    return *value_;
  }

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  // Takes a copy of the value for itself alone, to be changed. Other copies
  // made before keep theirs.
  T& MakeOwn() {
    auto own = std::make_shared<T>(*value_);
    value_ = own;
    return *own;
  }

 private:
  std::shared_ptr<const T> value_;  // Never null.
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_SHARED_H_

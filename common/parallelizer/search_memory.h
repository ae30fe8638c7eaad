#ifndef TANGRAM_COMMON_PARALLELIZER_SEARCH_MEMORY_H_
#define TANGRAM_COMMON_PARALLELIZER_SEARCH_MEMORY_H_

#include <memory>
#include <utility>

namespace tangram {

// Things that a parallelizer keeps from question to question, to compute them
// once. Answers do not depend on them. The caller owns them and knows nothing
// of their content. Questions to different parallelizers may share one memory.
// Only one question may use it at a time.
class SearchMemory {
 public:
  class Content {
   public:
    virtual ~Content() = default;
  };

  // Returns the content if it is a T, or else a new T in its place.
  template <typename T>
  T& As() {
    T* known = dynamic_cast<T*>(content_.get());
    if (known != nullptr) return *known;
    auto made = std::make_unique<T>();
    T& content = *made;
    content_ = std::move(made);
    return content;
  }

 private:
  std::unique_ptr<Content> content_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_SEARCH_MEMORY_H_

#ifndef TANGRAM_COMMON_SIM_ARRIVAL_QUEUE_H_
#define TANGRAM_COMMON_SIM_ARRIVAL_QUEUE_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace tangram {

// When the inputs of a stage arrive, first in, first out. As large as the most
// that ever waited, however many there are in all. std::deque allocates as it
// goes along, which here takes longer than all else.
class ArrivalQueue {
 public:
  bool empty() const { return head_ == tail_; }
  // Unless empty.
  double Pop() { return ring_[head_++ & (ring_.size() - 1)]; }
  void Push(double arrival_s) {
    if (tail_ - head_ == ring_.size()) Grow();
    ring_[tail_++ & (ring_.size() - 1)] = arrival_s;
  }

 private:
  void Grow() {
    std::vector<double> larger(2 * ring_.size());
    size_t count = 0;
    while (!empty()) larger[count++] = Pop();
    ring_ = std::move(larger);
    head_ = 0;
    tail_ = count;
  }

  std::vector<double> ring_ = std::vector<double>(2);  // Size: a power of two.
  size_t head_ = 0;
  size_t tail_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_ARRIVAL_QUEUE_H_

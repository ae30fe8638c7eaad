#include "tests/bench/load/closed_loop.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"

namespace tangram::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kWarmUpShare = 0.1;

double Quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(q *
                                    static_cast<double>(sorted.size() - 1))];
}

}  // namespace

LoopResult RunClosedLoop(
    int num_threads, double seconds,
    const std::function<std::function<void()>()>& make_caller) {
  const auto count_from =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         Seconds(seconds * kWarmUpShare));
  const auto end = count_from + std::chrono::duration_cast<Clock::duration>(
                                    Seconds(seconds));
  std::mutex mutex;
  std::vector<double> all_s;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < num_threads; ++i) {
      threads.emplace_back([&] {
        const std::function<void()> call = make_caller();
        std::vector<double> times_s;
        for (auto now = Clock::now(); now < end;) {
          call();
          const auto after = Clock::now();
          if (now >= count_from) {
            times_s.push_back(Seconds(after - now).count());
          }
          now = after;
        }
        const std::lock_guard lock(mutex);
        all_s.insert(all_s.end(), times_s.begin(), times_s.end());
      });
    }
  }
  std::sort(all_s.begin(), all_s.end());
  return {.calls_per_s = static_cast<double>(all_s.size()) / seconds,
          .p50_s = Quantile(all_s, 0.5),
          .p99_s = Quantile(all_s, 0.99)};
}

std::string ToJson(const LoopResult& result) {
  return absl::StrFormat(
      R"({"calls_per_s": %.1f, "p50_s": %.6f, "p99_s": %.6f})",
      result.calls_per_s, result.p50_s, result.p99_s);
}

}  // namespace tangram::bench

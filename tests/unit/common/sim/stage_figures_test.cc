#include "common/sim/stage_figures.h"

#include "gtest/gtest.h"
#include "tests/unit/common/sim/two_node_inputs.h"

namespace tangram {
namespace {

using testing::TwoNodeInputs;

double Sent(const TwoNodeInputs& in, OperatorCut cut,
            const StageParallelism& receiver, bool is_gradient = false) {
  return SentBytes(in.model, in.training, in.plan, cut, receiver, is_gradient);
}

TEST(SentBytesTest, RanksGatherTheirSharesInsideTheNode) {
  const TwoNodeInputs in;
  const double bytes = Sent(in, {3, 0}, {.tp_degree = 1});
  EXPECT_GT(bytes, 0);
  EXPECT_EQ(Sent(in, {3, 0}, {.tp_degree = 4}), bytes);
}

TEST(SentBytesTest, BufferedSendsGiveEveryRankTheResidualStream) {
  TwoNodeInputs in;
  const double bytes = Sent(in, {3, 0}, {.tp_degree = 1});
  // Queries, keys and values beside the residual stream.
  const double inside = Sent(in, {3, 2}, {.tp_degree = 1});
  in.training.buffered_sends = true;
  EXPECT_EQ(Sent(in, {3, 0}, {.tp_degree = 4}), 4 * bytes);
  EXPECT_EQ(Sent(in, {3, 2}, {.tp_degree = 4}), inside + 3 * bytes);
  EXPECT_EQ(Sent(in, {3, 0}, {.tp_degree = 4, .sequence_parallel = true}),
            bytes);
}

TEST(SentBytesTest, DeepSpeedOf2020GivesEveryRankTheWholeGradient) {
  TwoNodeInputs in;
  const double bytes = Sent(in, {3, 0}, {.tp_degree = 1});
  in.training.blocking_transfers = true;
  EXPECT_EQ(Sent(in, {3, 0}, {.tp_degree = 4}, /*is_gradient=*/true), bytes);
  in.training.gradient_copy = true;
  EXPECT_EQ(Sent(in, {3, 0}, {.tp_degree = 4}, /*is_gradient=*/true),
            4 * bytes);
  EXPECT_EQ(Sent(in, {3, 0}, {.tp_degree = 4}, /*is_gradient=*/false), bytes);
}

}  // namespace
}  // namespace tangram

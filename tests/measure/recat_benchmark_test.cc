#include "hotrow/measure/recat_benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotrow {
namespace {

TEST(RecatBenchmark, ManyIdsInSeveralParts) {
  ThreadPool pool(3);
  for (const RecatMode mode : {RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc}) {
    for (const int id_bytes : {4, 8}) {
      RecatBenchmarkConfig config{mode, 5, 3000, {7, 1, 0, 30}, id_bytes, 1, 2};
      const RecatBenchmarkResult result = RunRecat(config, pool);  // checks itself
      EXPECT_EQ(result.ids, 5 * 3000 * 38);
      EXPECT_EQ(result.seconds.size(), 2U);
      const std::int64_t payload = result.ids * id_bytes;
      if (mode == RecatMode::kSc) {
        EXPECT_GE(result.bytes_moved, 3 * 16 * payload);
      } else if (mode == RecatMode::kTc) {
        EXPECT_EQ(result.bytes_moved, 2 * payload + 4 * result.ids);
      } else {
        EXPECT_GE(result.bytes_moved, 6 * payload);
      }
    }
  }
  const RecatBenchmarkResult none = RunRecat({RecatMode::kNone, 8, 100, {3}, 4, 0, 4}, pool);
  EXPECT_EQ(none.bytes_moved, 0);
  EXPECT_THAT(none.seconds, ::testing::IsEmpty());
  EXPECT_EQ(none.copy_seconds.size(), 4U);
}

}  // namespace
}  // namespace hotrow

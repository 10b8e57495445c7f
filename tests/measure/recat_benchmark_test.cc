#include "hotrow/measure/recat_benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hotrow {
namespace {

BenchConfig OfBags(std::vector<std::int32_t> sizes, std::int64_t samples, RecatMode mode, IdBytes id_bytes) {
  BenchConfig config;
  config.data.rows.assign(sizes.size(), 1);
  config.data.bag_sizes = std::move(sizes);
  config.per_chip_batch = samples;
  config.trainer.model.tables = {
      {.name = "t", .num_embeddings = 1, .embedding_dim = 4, .feature_names = {"f"}}};
  config.trainer.dist = {.recat = mode, .id_bytes = id_bytes};
  config.warmup = 1;
  config.steps = 2;
  return config;
}

TEST(RecatBenchmark, ManyIdsInSeveralParts) {
  ThreadPool pool(3);
  for (const RecatMode mode : {RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc}) {
    for (const IdBytes id_bytes : {IdBytes::k4, IdBytes::k8}) {
      const RecatResult result =
          RunRecat(OfBags({7, 1, 0, 30}, 3000, mode, id_bytes), 5, pool);  // checks itself
      EXPECT_EQ(result.ids, 5 * 3000 * 38);
      EXPECT_EQ(result.seconds.size(), 2U);
      const std::int64_t payload = result.ids * (id_bytes == IdBytes::k4 ? 4 : 8);
      EXPECT_EQ(result.payload_bytes(), payload);
      if (mode == RecatMode::kSc) {
        EXPECT_GE(result.bytes_moved, 3 * 16 * payload);
      } else if (mode == RecatMode::kTc) {
        EXPECT_EQ(result.bytes_moved, 2 * payload + 4 * result.ids);
      } else {
        EXPECT_GE(result.bytes_moved, 6 * payload);
      }
    }
  }
  const RecatResult none = RunRecat(OfBags({3}, 100, RecatMode::kNone, IdBytes::kAuto), 8, pool);
  EXPECT_EQ(none.bytes_moved, 0);
  EXPECT_THAT(none.seconds, ::testing::IsEmpty());
  EXPECT_EQ(none.copy_seconds.size(), 2U);
}

}  // namespace
}  // namespace hotrow

#include "hotrow/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "hotrow/base/error.h"
#include "tests/model/tower_case.h"

namespace hotrow {
namespace {

using testing::HasSubstr;

TEST(ModelConfigTest, NamesGoThereAndBack) {
  for (const Interaction i : {Interaction::kCross, Interaction::kDot})
    EXPECT_EQ(ParseInteraction(ToString(i)), i);
  try {
    ParseInteraction("dcn");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("'dcn'"), HasSubstr("dlrm_dcn, dlrm")));
  }
}

TEST(ModelConfigTest, EveryRuleNamesItsField) {
  struct Case {
    std::function<void(ModelConfig&)> breaks;
    const char* names;
  };
  const Case cases[] = {
      {[](ModelConfig& c) { c.num_dense = -1; }, "num_dense"},
      {[](ModelConfig& c) { c.tables[1].embedding_dim = 0; }, "embedding_dim"},
      {[](ModelConfig& c) { c.dense_arch.clear(); }, "dense_arch"},
      {[](ModelConfig& c) { c.dense_arch[0] = 0; }, "dense_arch"},
      {[](ModelConfig& c) { c.over_arch.back() = 2; }, "over_arch"},
      {[](ModelConfig& c) { c.dcn_num_layers = 0; }, "dcn_num_layers"},
      {[](ModelConfig& c) { c.dcn_low_rank = 0; }, "dcn_low_rank"},
      {[](ModelConfig& c) { c.features.clear(); }, "features"},
      {[](ModelConfig& c) { c.features[1] = "f0"; }, "'f0'"},
      {[](ModelConfig& c) { c.features[1] = "nowhere"; }, "'f1' is not among"},
      {[](ModelConfig& c) {
         c.tables[1].feature_names = {"f0", "f1"};
       },
       "'f0'"},
      {[](ModelConfig& c) { c.tables[1].name = ""; }, "name"},
  };
  EXPECT_NO_THROW(Validate(test::SmallModel(Interaction::kCross, 3, 16)));
  for (const Case& c : cases) {
    ModelConfig config = test::SmallModel(Interaction::kCross, 3, 16);
    c.breaks(config);
    try {
      Validate(config);
      ADD_FAILURE() << "no error about " << c.names;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(c.names));
    }
  }
}

TEST(ModelConfigTest, TheCrossNetTakesTablesOfAnyDims) {
  ModelConfig config = test::SmallModel(Interaction::kCross, 3, 16);
  config.dense_arch.back() = 5;
  config.tables[1].embedding_dim = 4;
  config.tables[2].embedding_dim = 100;
  EXPECT_NO_THROW(Validate(config));
  EXPECT_THAT(config.FeatureDims(), testing::ElementsAre(16, 4, 100));
  EXPECT_EQ(config.InteractionWidth(), 5 + 16 + 4 + 100);
  // Two features of one table, in another order than the tables.
  config.tables.erase(config.tables.begin());
  config.tables[1].feature_names.push_back("f0");
  EXPECT_THAT(config.FeatureDims(), testing::ElementsAre(100, 4, 100));
}

TEST(ModelConfigTest, DotProductsNeedOneDim) {
  const auto message = [](auto change) {
    ModelConfig config = test::SmallModel(Interaction::kDot, 3, 16);
    change(config);
    try {
      Validate(config);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([](ModelConfig&) {}), "");
  EXPECT_THAT(message([](ModelConfig& c) { c.tables[2].embedding_dim = 8; }),
              testing::AllOf(HasSubstr("'t_f0' has embedding_dim 16"), HasSubstr("'t_f2' 8")));
  EXPECT_THAT(message([](ModelConfig& c) { c.dense_arch.back() = 17; }),
              HasSubstr("dense_arch ends with 17"));
}

}  // namespace
}  // namespace hotrow

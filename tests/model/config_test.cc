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
      {[](ModelConfig& c) { c.embedding_dim = 0; }, "embedding_dim"},
      {[](ModelConfig& c) { c.dense_arch.back() = 17; }, "dense_arch"},
      {[](ModelConfig& c) { c.dense_arch.clear(); }, "dense_arch"},
      {[](ModelConfig& c) { c.dense_arch[0] = 0; }, "dense_arch"},
      {[](ModelConfig& c) { c.over_arch.back() = 2; }, "over_arch"},
      {[](ModelConfig& c) { c.dcn_num_layers = 0; }, "dcn_num_layers"},
      {[](ModelConfig& c) { c.dcn_low_rank = 0; }, "dcn_low_rank"},
      {[](ModelConfig& c) { c.features.clear(); }, "features"},
      {[](ModelConfig& c) { c.features[1] = "f0"; }, "'f0'"},
      {[](ModelConfig& c) { c.features[1] = "nowhere"; }, "'nowhere'"},
      {[](ModelConfig& c) {
         c.tables[1].feature_names = {"f0", "f1"};
       },
       "'f0'"},
      {[](ModelConfig& c) { c.tables[1].embedding_dim = 8; }, "'t_f1'"},
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

}  // namespace
}  // namespace hotrow

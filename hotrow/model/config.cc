#include "hotrow/model/config.h"

#include <set>
#include <string_view>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

void CheckSizes(std::string_view field, const std::vector<std::int64_t>& sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 1) Fail("model: {} has a layer of size {}; sizes are at least 1", field, size);
  }
  if (sizes.empty()) Fail("model: {} has no layer; at least one is needed", field);
}

// Far more than anyone trains; a damaged file's number would be built for hours.
constexpr std::int64_t kMostCrossLayers = 1024;

void CheckAtLeast(std::string_view field, std::int64_t value, std::int64_t least) {
  if (value < least) Fail("model: {} is {}; it must be at least {}", field, value, least);
}

// Dot products need vectors of one size.
void CheckSameDims(const ModelConfig& config) {
  const EmbeddingTableConfig& first = config.tables.front();
  for (const EmbeddingTableConfig& table : config.tables) {
    if (table.embedding_dim == first.embedding_dim) continue;
    Fail(
        "model: dlrm multiplies pooled rows with one another, but table '{}' has embedding_dim {} and table '{}' "
        "{}; give them one, or use dlrm_dcn",
        first.name, first.embedding_dim, table.name, table.embedding_dim);
  }
  if (config.dense_dim() == first.embedding_dim) return;
  Fail("model: dense_arch ends with {}; dlrm needs the tables' embedding_dim there, {}", config.dense_dim(),
       first.embedding_dim);
}

void CheckFeatures(const ModelConfig& config) {
  if (config.features.empty()) Fail("model: features is empty; at least one is needed");
  std::set<std::string_view> known;
  for (const std::string& feature : config.features) {
    if (!known.insert(feature).second) Fail("model: feature '{}' is named twice in features", feature);
  }
  try {
    TablesOfFeatures(config.tables, config.features);
  } catch (const Error& error) {
    Fail("model: {}", error.what());
  }
}

}  // namespace

Interaction ParseInteraction(const std::string& text) {
  if (text == "dlrm_dcn") return Interaction::kCross;
  if (text == "dlrm") return Interaction::kDot;
  Fail("model '{}' is unknown; valid: dlrm_dcn, dlrm", text);
}

std::string ToString(Interaction interaction) {
  return interaction == Interaction::kCross ? "dlrm_dcn" : "dlrm";
}

void Validate(const ModelConfig& config) {
  CheckAtLeast("num_dense", config.num_dense, 0);
  CheckSizes("dense_arch", config.dense_arch);
  CheckSizes("over_arch", config.over_arch);
  if (config.over_arch.back() != 1) {
    Fail("model: over_arch ends with {}; its last layer must have size 1, the logit",
         config.over_arch.back());
  }
  if (config.interaction == Interaction::kCross) {
    CheckAtLeast("dcn_num_layers", config.dcn_num_layers, 1);
    if (config.dcn_num_layers > kMostCrossLayers) {
      Fail("model: dcn_num_layers is {}; it must be at most {}", config.dcn_num_layers, kMostCrossLayers);
    }
    CheckAtLeast("dcn_low_rank", config.dcn_low_rank, 1);
  }
  Validate(config.tables);
  CheckFeatures(config);
  if (config.interaction == Interaction::kDot) CheckSameDims(config);
}

std::vector<std::int64_t> ModelConfig::FeatureDims() const {
  std::vector<std::int64_t> dims;
  for (const std::size_t table : TablesOfFeatures(tables, features))
    dims.push_back(tables[table].embedding_dim);
  return dims;
}

std::int64_t ModelConfig::InteractionWidth() const {
  std::int64_t width = dense_dim();
  for (const std::int64_t dim : FeatureDims()) width = CheckedAdd(width, dim);
  return width;
}

}  // namespace hotrow

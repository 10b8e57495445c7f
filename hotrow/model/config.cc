#include "hotrow/model/config.h"

#include <algorithm>
#include <string_view>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

void CheckSizes(std::string_view field, const std::vector<std::int64_t>& sizes, std::int64_t last,
                std::string_view last_is) {
  for (const std::int64_t size : sizes) {
    if (size < 1) Fail("model: {} has a layer of size {}; sizes are at least 1", field, size);
  }
  if (sizes.empty() || sizes.back() != last) {
    Fail("model: {} ends with {}; its last layer must have size {} ({})", field,
         sizes.empty() ? std::string("nothing") : std::to_string(sizes.back()), last, last_is);
  }
}

// Far more than anyone trains; a damaged file's number would be built for hours.
constexpr std::int64_t kMostCrossLayers = 1024;

void CheckAtLeast(std::string_view field, std::int64_t value, std::int64_t least) {
  if (value < least) Fail("model: {} is {}; it must be at least {}", field, value, least);
}

bool HasFeature(const EmbeddingTableConfig& table, const std::string& feature) {
  const auto& names = table.feature_names;
  return std::find(names.begin(), names.end(), feature) != names.end();
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
  CheckAtLeast("embedding_dim", config.embedding_dim, 1);
  CheckSizes("dense_arch", config.dense_arch, config.embedding_dim, "embedding_dim");
  CheckSizes("over_arch", config.over_arch, 1, "the logit");
  if (config.interaction == Interaction::kCross) {
    CheckAtLeast("dcn_num_layers", config.dcn_num_layers, 1);
    if (config.dcn_num_layers > kMostCrossLayers) {
      Fail("model: dcn_num_layers is {}; it must be at most {}", config.dcn_num_layers, kMostCrossLayers);
    }
    CheckAtLeast("dcn_low_rank", config.dcn_low_rank, 1);
  }
  Validate(config.tables);
  if (config.features.empty()) Fail("model: features is empty; at least one is needed");
  for (const EmbeddingTableConfig& table : config.tables) {
    if (table.embedding_dim != config.embedding_dim) {
      Fail("model: table '{}' has embedding_dim {}; the model's is {}", table.name, table.embedding_dim,
           config.embedding_dim);
    }
  }
  for (std::size_t i = 0; i < config.features.size(); ++i) {
    const std::string& feature = config.features[i];
    if (std::find(config.features.begin(), config.features.begin() + static_cast<std::ptrdiff_t>(i),
                  feature) != config.features.begin() + static_cast<std::ptrdiff_t>(i)) {
      Fail("model: feature '{}' is named twice in features", feature);
    }
    const auto tables = std::count_if(config.tables.begin(), config.tables.end(),
                                      [&](const EmbeddingTableConfig& t) { return HasFeature(t, feature); });
    if (tables != 1) {
      Fail("model: feature '{}' is in {} tables; each feature must be in exactly one", feature, tables);
    }
  }
}

}  // namespace hotrow

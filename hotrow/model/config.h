#pragma once
// The models as plain data: sizes only.

#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/embed/table_config.h"

namespace hotrow {

enum class Interaction {
  kCross,  ///< low-rank cross net: TorchRec's DLRM_DCN
  kDot,    ///< pairwise dot products: TorchRec's DLRM
};
/// "dlrm_dcn" (kCross), "dlrm" (kDot); throws Error listing them.
Interaction ParseInteraction(const std::string& text);
std::string ToString(Interaction interaction);

/// MLPerf DLRM-v2 by default, but for its tables. `features` are the batch's keys, in the order of the
/// interaction; one a table is usual. Tables may differ in embedding_dim under kCross, which concatenates;
/// kDot multiplies rows with one another, so all dims and the dense arch's last layer are one size.
struct ModelConfig {
  Interaction interaction = Interaction::kCross;
  std::int64_t num_dense = 13;
  std::vector<std::int64_t> dense_arch = {512, 256, 128};           ///< layer sizes
  std::vector<std::int64_t> over_arch = {1024, 1024, 512, 256, 1};  ///< layer sizes, the last equal to 1
  std::int64_t dcn_num_layers = 3;
  std::int64_t dcn_low_rank = 512;
  std::vector<EmbeddingTableConfig> tables;
  std::vector<std::string> features;

  std::int64_t num_features() const { return static_cast<std::int64_t>(features.size()); }
  /// Columns of the dense arch's output: the first of the interaction's input.
  std::int64_t dense_dim() const { return dense_arch.empty() ? 0 : dense_arch.back(); }
  /// embedding_dim of each feature's table, in the order of `features`. O(F) of a valid model.
  std::vector<std::int64_t> FeatureDims() const;
  /// Columns of the interaction's input: dense_dim(), then every feature's. O(F) of a valid model.
  std::int64_t InteractionWidth() const;
};

/// Throws Error naming the field that breaks a rule above.
void Validate(const ModelConfig& config);

}  // namespace hotrow

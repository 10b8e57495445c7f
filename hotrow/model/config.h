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

/// MLPerf DLRM-v2 by default. One feature a table is usual; `features` are the batch's keys, in the order of
/// the interaction.
struct ModelConfig {
  Interaction interaction = Interaction::kCross;
  std::int64_t num_dense = 13;
  std::int64_t embedding_dim = 128;
  std::vector<std::int64_t> dense_arch = {512, 256, 128};  ///< layer sizes, the last equal to embedding_dim
  std::vector<std::int64_t> over_arch = {1024, 1024, 512, 256, 1};  ///< layer sizes, the last equal to 1
  std::int64_t dcn_num_layers = 3;
  std::int64_t dcn_low_rank = 512;
  std::vector<EmbeddingTableConfig> tables;
  std::vector<std::string> features;

  std::int64_t num_features() const { return static_cast<std::int64_t>(features.size()); }
  /// Columns of the interaction's input: (F + 1) * D, dense first.
  std::int64_t interaction_width() const { return (num_features() + 1) * embedding_dim; }
};

/// Throws Error naming the field that breaks a rule above.
void Validate(const ModelConfig& config);

}  // namespace hotrow

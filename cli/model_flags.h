#pragma once
// Flags that say what is trained and how, the same for `train` and `bench`.

#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/model/config.h"
#include "hotrow/train/trainer.h"

namespace CLI {
class App;
}

namespace hotrow::cli {

struct ModelFlags {
  std::string model = "dlrm_dcn";
  std::int64_t embedding_dim = 128;
  std::vector<std::int64_t> dense_arch;  ///< empty: 512,256,DIM
  std::vector<std::int64_t> over_arch = {1024, 1024, 512, 256, 1};
  std::int64_t dcn_num_layers = 3;
  std::int64_t dcn_low_rank = 512;
  std::string pooling = "sum";

  std::string optimizer = "adagrad";
  float learning_rate = 0.01F;
  float eps = 1e-8F;
  float weight_decay = 0.0F;
  std::string weight_decay_mode = "none";
  std::string dense_optimizer;  ///< empty: the same; adagrad for row-wise Adagrad

  std::string kernel = "fused";
  std::string tables = "auto";
  std::string bad_ids = "error";
  std::string precision = "fp32";
  std::int64_t reduction_units = 0;  ///< 0: as many as ranks can share, 8 or more
};

void AddModelFlags(CLI::App& app, ModelFlags& flags);

/// The model for data of this description: one table "t_NAME" a feature.
ModelConfig MakeModelConfig(const ModelFlags& flags, const DataDescription& data);

/// Everything of a TrainerConfig for one rank; `tables = auto` is decided here from the machine's free
/// memory. cli/rank_flags.h completes it for more.
TrainerConfig MakeTrainerConfig(const ModelFlags& flags, ModelConfig model, std::uint64_t seed);

}  // namespace hotrow::cli

#include "hotrow/train/config_text.h"

#include <fmt/core.h>

#include "hotrow/plan/plan_file.h"
#include "hotrow/train/model_file.h"

namespace hotrow {
std::string ConfigText(const TrainerConfig& config) {
  return fmt::format(
      "model {}\nplan {}\ndense optimizer {}\nschedule {}\nclip norm {} sample weights {} kernel {} bad ids {} "
      "units {} seed {} recat {} id bytes {} output permute {} verify {}\n",
      ModelConfigToJson(config.model), config.plan ? PlanToJson(*config.plan) : "none",
      ToString(config.dense_optimizer), ToString(config.schedule), config.clip_norm, config.sample_weights,
      static_cast<int>(config.kernel), static_cast<int>(config.bad_ids), config.reduction_units, config.seed,
      static_cast<int>(config.dist.recat), static_cast<int>(config.dist.id_bytes),
      static_cast<int>(config.dist.output_permute), config.verify_every);
}

}  // namespace hotrow

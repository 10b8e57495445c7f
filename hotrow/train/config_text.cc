#include "hotrow/train/config_text.h"

#include <fmt/core.h>

#include "hotrow/plan/plan_file.h"
#include "hotrow/train/model_file.h"

namespace hotrow {
namespace {

std::string OptimizerText(const OptimizerConfig& config) {
  return fmt::format("{} lr {} eps {} betas {} {} decay {} {}", ToString(config.kind), config.learning_rate,
                     config.eps, config.beta1, config.beta2, config.weight_decay,
                     ToString(config.weight_decay_mode));
}

}  // namespace

std::string ConfigText(const TrainerConfig& config) {
  return fmt::format(
      "model {}\nplan {}\noptimizer {}\ndense optimizer {}\nkernel {} bad ids {} units {} seed {} recat "
      "{} id bytes {} output permute {} verify {}\n",
      ModelConfigToJson(config.model), config.plan ? PlanToJson(*config.plan) : "none",
      OptimizerText(config.optimizer), OptimizerText(config.dense_optimizer), static_cast<int>(config.kernel),
      static_cast<int>(config.bad_ids), config.reduction_units, config.seed,
      static_cast<int>(config.dist.recat), static_cast<int>(config.dist.id_bytes),
      static_cast<int>(config.dist.output_permute), config.verify_every);
}

}  // namespace hotrow

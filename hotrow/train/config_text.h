#pragma once
// What ranks must agree on before they train together, as text.

#include <string>

#include "hotrow/train/trainer.h"

namespace hotrow {

/// Equal texts: the same model, plan and step. Where a rank keeps its rows (TrainerConfig::storage) is its
/// own business.
std::string ConfigText(const TrainerConfig& config);

}  // namespace hotrow

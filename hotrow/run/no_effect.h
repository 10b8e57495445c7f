#pragma once
// Settings that do nothing, found before a training rather than after it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/train/trainer.h"

namespace hotrow {

/// Throws Error, naming the table or the dense parameters, for what provably does nothing:
///   - a decoupled decay whose factor 1 - learning_rate * weight_decay rounds to 1 in fp32;
///   - learning rates that are 0 everywhere.
/// Returns a line for each thing that most likely does nothing:
///   - one learning rate of 0: those weights stay as they start;
///   - Adagrad, row-wise Adagrad or Adam whose step, about the learning rate, is less than half a unit in the
///     last place of weights of the size that the first ones have;
///   - an eps of 1 or more under Adagrad or Adam, which gradients of a mean loss do not reach: the
///     accumulated squares then have no weight beside it;
///   - SGD's L2 decay that moves no weight by half a unit in its last place;
///   - steps after a schedule has fallen to 0. `steps`: of the whole run, where that is known.
std::vector<std::string> CheckEffects(const TrainerConfig& config, std::optional<std::int64_t> steps);

}  // namespace hotrow

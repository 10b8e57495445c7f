#include "hotrow/run/no_effect.h"

#include <algorithm>
#include <cmath>

#include "hotrow/base/error.h"
#include "hotrow/base/printable.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow {
namespace {

// Of a weight: what is less than this part of it is less than half a unit in its last place.
constexpr double kHalfUlp = 0x1.0p-25;

// Weights with one optimizer.
struct Weights {
  std::string name;  // "table 't_user'"
  OptimizerConfig optimizer;
  double scale = 0;    // the largest of the first values, about; 0: they start from 0
  double largest = 1;  // an update over the learning rate, at most
};

double ScaleOf(const EmbeddingTableConfig& table) {
  switch (table.init.kind) {
    case InitKind::kDefault:
      return std::sqrt(1.0 / static_cast<double>(table.num_embeddings));
    case InitKind::kUniform:
    case InitKind::kNormal:
      return static_cast<double>(table.init.value);
    case InitKind::kZeros:
      break;
  }
  return 0;
}

// |g| / sqrt(h) <= 1 where h holds g^2; a row's one h holds the mean of them. Adam's means differ in length.
double LargestUpdate(const OptimizerConfig& optimizer, std::int64_t dim) {
  if (optimizer.kind == OptimizerKind::kRowWiseAdagrad) return std::sqrt(static_cast<double>(dim));
  if (optimizer.kind != OptimizerKind::kAdam) return 1;
  const auto beta1 = static_cast<double>(optimizer.beta1);
  const auto beta2 = static_cast<double>(optimizer.beta2);
  return std::max(1.0, (1 - beta1) / std::sqrt(1 - beta2));
}

std::vector<Weights> AllWeights(const TrainerConfig& config) {
  std::vector<Weights> all;
  for (const EmbeddingTableConfig& table : config.model.tables) {
    all.push_back({.name = fmt::format("table {}", Quoted(table.name)),
                   .optimizer = table.optimizer,
                   .scale = ScaleOf(table),
                   .largest = LargestUpdate(table.optimizer, table.embedding_dim)});
  }
  // The layer of most inputs starts from the smallest weights.
  std::int64_t inputs = std::max<std::int64_t>(config.model.InteractionWidth(), 1);
  for (const auto* arch : {&config.model.dense_arch, &config.model.over_arch}) {
    for (const std::int64_t size : *arch) inputs = std::max(inputs, size);
  }
  OptimizerConfig dense = config.dense_optimizer;
  if (dense.kind == OptimizerKind::kRowWiseAdagrad) dense.kind = OptimizerKind::kAdagrad;
  all.push_back({.name = "the dense parameters",
                 .optimizer = dense,
                 .scale = std::sqrt(1.0 / static_cast<double>(inputs)),
                 .largest = LargestUpdate(dense, 1)});
  return all;
}

void RefuseDecayOfNothing(const Weights& weights) {
  const OptimizerConfig& optimizer = weights.optimizer;
  if (optimizer.weight_decay_mode != WeightDecayMode::kDecoupled || optimizer.learning_rate == 0) return;
  if (MakeOptimizerFactors(optimizer, 1).keep != 1.0F) return;
  Fail(
      "weight decay {} of {}: nothing decays: decoupled, it multiplies weights by 1 - learning rate {} x {}, "
      "which is 1 in fp32; valid: a product above {:.1g}, or mode l2",
      optimizer.weight_decay, weights.name, optimizer.learning_rate, optimizer.weight_decay, kHalfUlp);
}

// What most likely does nothing to these weights; "" where nothing is found.
std::string Suspicion(const Weights& weights) {
  const OptimizerConfig& optimizer = weights.optimizer;
  const auto rate = static_cast<double>(optimizer.learning_rate);
  const bool sgd = optimizer.kind == OptimizerKind::kSgd;
  if (rate == 0) return fmt::format("{}: the learning rate is 0, nothing of it is trained", weights.name);
  // The upper half of the weights, and more where they grow, stays where it is.
  if (!sgd && rate * weights.largest < kHalfUlp * weights.scale / 2) {
    return fmt::format(
        "{}: a step of {} is about the learning rate {}, too little for fp32 weights that start near {:.3g}",
        weights.name, ToString(optimizer.kind), rate, weights.scale);
  }
  if (!sgd && optimizer.eps >= 1.0F) {
    return fmt::format("{}: eps {} is more than gradients are, so that {} does what SGD does", weights.name,
                       optimizer.eps, ToString(optimizer.kind));
  }
  const bool l2 = optimizer.weight_decay_mode == WeightDecayMode::kL2;
  if (sgd && l2 && rate * static_cast<double>(optimizer.weight_decay) < kHalfUlp) {
    return fmt::format("{}: learning rate {} x weight decay {} is too little to move an fp32 weight",
                       weights.name, rate, optimizer.weight_decay);
  }
  return "";
}

}  // namespace

std::vector<std::string> CheckEffects(const TrainerConfig& config, std::optional<std::int64_t> steps) {
  const std::vector<Weights> all = AllWeights(config);
  if (std::ranges::all_of(all, [](const Weights& w) { return w.optimizer.learning_rate == 0; })) {
    Fail(
        "learning rate 0: it is that of all tables and of the dense parameters, so nothing would be trained");
  }
  std::vector<std::string> lines;
  // A model may have hundreds of tables of which the same is true.
  constexpr std::size_t kMost = 10;
  for (const Weights& weights : all) {
    RefuseDecayOfNothing(weights);
    const std::string line = Suspicion(weights);
    if (!line.empty() && lines.size() < kMost) lines.push_back(line);
  }
  const LearningRateSchedule& schedule = config.schedule;
  const std::int64_t end = schedule.decay_start + schedule.decay_steps;
  if (schedule.kind != ScheduleKind::kConstant && schedule.floor == 0 && steps && *steps > end) {
    lines.push_back(fmt::format("lr-schedule {}: the rate is 0 from step {} on, and the run has {} steps",
                                ToString(schedule.kind), end, *steps));
  }
  return lines;
}

}  // namespace hotrow

#include "hotrow/train/trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/base/system.h"
#include "hotrow/base/tree_sum.h"

namespace hotrow {
namespace {

const TrainerConfig& Validated(const TrainerConfig& config) {
  Validate(config.model);
  Validate(config.optimizer);
  Validate(config.dense_optimizer);
  ValidateReductionUnits(config.reduction_units);
  return config;
}

std::unique_ptr<Tower> CheckedTower(const TrainerConfig& config, ThreadPool& pool) {
  return MakeTower(Validated(config).model, config.seed, pool);
}

}  // namespace

Trainer::Trainer(const TrainerConfig& config, ThreadPool& pool)
    : config_(config),
      pool_(pool),
      tower_(CheckedTower(config, pool)),
      dense_optimizer_(config.dense_optimizer, tower_->parameters()),
      embeddings_(config.model.tables, config.model.features,
                  {.optimizer = config.optimizer,
                   .kernel = config.kernel,
                   .storage = config.storage,
                   .seed = config.seed},
                  pool) {
  const ModelConfig& model = config_.model;
  for (std::int64_t f = 0; f < model.num_features(); ++f) {
    columns_.push_back((f + 1) * model.embedding_dim);
    table_rows_.push_back(embeddings_.table(embeddings_.TableOfFeature(f)).config().num_embeddings);
  }
  const std::int64_t units = config_.reduction_units;
  present_gradients_.resize(static_cast<std::size_t>(units));
  unit_losses_.resize(static_cast<std::size_t>(units));
  workspaces_.resize(static_cast<std::size_t>(pool.size()));
}

void Trainer::CheckBatch(const Batch& batch, bool labels) const {
  const auto samples = static_cast<std::size_t>(batch.size);
  HOTROW_CHECK(batch.size > 0);
  HOTROW_CHECK(batch.dense.size() == samples * static_cast<std::size_t>(config_.model.num_dense));
  HOTROW_CHECK(batch.sparse.batch_size() == batch.size);
  HOTROW_CHECK(batch.sparse.num_features() == config_.model.num_features());
  HOTROW_CHECK(!labels || batch.labels.size() == samples);
}

void Trainer::EnsureCapacity(std::int64_t samples, bool training) {
  const std::int64_t floats = CheckedMul(samples, config_.model.interaction_width());
  x_.EnsureSize(floats);
  logits_.EnsureSize(samples);
  if (!training) return;
  dx_.EnsureSize(floats);
  unit_gradients();
}

UnitGradients& Trainer::unit_gradients() {
  if (!unit_gradients_) unit_gradients_.emplace(tower_->parameters().padded_size(), config_.reduction_units);
  return *unit_gradients_;
}

void Trainer::EnsureWorkspaces(std::int64_t rows) {
  if (rows <= workspace_rows_) return;
  workspace_rows_ = rows;
  // All of them now: a thread may come to its first unit long after the others.
  for (auto& workspace : workspaces_) workspace = tower_->MakeWorkspace(rows);
}

TowerWorkspace& Trainer::Workspace(int thread) { return *workspaces_[static_cast<std::size_t>(thread)]; }

TowerBatch Trainer::UnitRows(const Batch& batch, std::int64_t first, std::int64_t rows) {
  const std::int64_t width = config_.model.interaction_width();
  TowerBatch unit;
  unit.rows = rows;
  unit.dense = batch.dense.data() + first * config_.model.num_dense;
  unit.x = x_.data() + first * width;
  unit.labels = batch.labels.empty() ? nullptr : batch.labels.data() + first;
  unit.dx = dx_.size() == 0 ? nullptr : dx_.data() + first * width;
  unit.logits = logits_.data() + first;
  unit.gradient_scale = 1.0 / static_cast<double>(batch.size);
  return unit;
}

double Trainer::RunTower(const Batch& batch) {
  const std::int64_t units = config_.reduction_units;
  pool_.Run(units, [&](std::int64_t u, int thread) {
    const auto index = static_cast<std::size_t>(u);
    const Slice rows = EvenSlice(batch.size, units, u);
    present_gradients_[index] = nullptr;
    if (rows.size() == 0) return;
    const std::span<float> gradient = unit_gradients_->at(u);
    unit_losses_[index] =
        tower_->ForwardBackward(UnitRows(batch, rows.begin, rows.size()), gradient, Workspace(thread));
    present_gradients_[index] = gradient.data();
  });
  // The loss, in the order of every other sum over units.
  double slots[65];
  TreeStack stack;
  const auto merge = [&](int into, int from) { slots[into] += slots[from]; };
  for (std::size_t u = 0; u < present_gradients_.size(); ++u) {
    if (present_gradients_[u] == nullptr) continue;
    const int slot = stack.Push(u, merge);
    slots[slot] = unit_losses_[u];
  }
  return stack.Finish(merge) ? slots[0] : 0.0;
}

float Trainer::Step(Batch& batch) {
  CheckBatch(batch, true);
  bad_id_count_ += CheckIds(batch.sparse, table_rows_, config_.bad_ids, batch.first_sample);
  EnsureCapacity(batch.size, true);
  EnsureWorkspaces(CeilDiv(batch.size, config_.reduction_units));
  ++step_;
  const std::int64_t width = config_.model.interaction_width();
  {
    const PhaseSpan span(phases_, Phase::kLookup);
    embeddings_.Forward(batch.sparse, {x_.data(), width, columns_}, pool_);
  }
  double loss = 0;
  {
    const PhaseSpan span(phases_, Phase::kDense);
    loss = RunTower(batch);
  }
  {
    const PhaseSpan span(phases_, Phase::kSparseBackward);
    embeddings_.Backward(batch.sparse, {dx_.data(), width, columns_}, config_.reduction_units, step_, pool_);
  }
  {
    const PhaseSpan span(phases_, Phase::kDenseOptimizer);
    dense_optimizer_.Step(tower_->parameters(), present_gradients_, step_, pool_);
    tower_->Pack(pool_);
  }
  return static_cast<float>(loss / static_cast<double>(batch.size));
}

void Trainer::Predict(Batch& batch, std::span<float> logits) {
  CheckBatch(batch, false);
  HOTROW_CHECK(static_cast<std::int64_t>(logits.size()) == batch.size);
  bad_id_count_ += CheckIds(batch.sparse, table_rows_, config_.bad_ids, batch.first_sample);
  EnsureCapacity(batch.size, false);
  const std::int64_t slices = std::min<std::int64_t>(batch.size, CeilDiv(batch.size, tower_->micro_batch()));
  EnsureWorkspaces(CeilDiv(batch.size, slices));
  embeddings_.Forward(batch.sparse, {x_.data(), config_.model.interaction_width(), columns_}, pool_);
  pool_.Run(slices, [&](std::int64_t s, int thread) {
    const Slice slice = EvenSlice(batch.size, slices, s);
    tower_->Forward(UnitRows(batch, slice.begin, slice.size()), Workspace(thread));
  });
  std::copy_n(logits_.data(), batch.size, logits.data());
}

std::uint64_t Trainer::WeightsHash() const {
  const Parameters& parameters = static_cast<const Tower&>(*tower_).parameters();
  return embeddings_.WeightsHash(pool_) + parameters.Hash(parameters.weights());
}

std::uint64_t Trainer::StateHash() const {
  return embeddings_.StateHash(pool_) +
         dense_optimizer_.StateHash(static_cast<const Tower&>(*tower_).parameters());
}

std::int64_t Trainer::ModelBytes() const {
  const Parameters& parameters = static_cast<const Tower&>(*tower_).parameters();
  const auto dense = parameters.padded_size() + static_cast<std::int64_t>(dense_optimizer_.state().size());
  return embeddings_.LogicalBytes() + dense * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace hotrow

#include "hotrow/model/dlrm.h"

#include <algorithm>
#include <cmath>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/dense/bce.h"
#include "hotrow/dense/cross_net.h"
#include "hotrow/dense/dot_interaction.h"
#include "hotrow/model/init.h"

namespace hotrow {

class DlrmTower::Workspace : public TowerWorkspace {
 public:
  Workspace(const DlrmTower& tower, std::int64_t max_rows)
      : rows(std::min(max_rows, kMicroBatch)),
        dense_arch(*tower.dense_arch_, scratch, arena, rows),
        interaction(tower.interaction_->MakeRunner(scratch, arena, rows)),
        over_arch(*tower.over_arch_, scratch, arena, rows),
        dense(arena.Add(rows * tower.dense_padded_)),
        dx(arena.Add(rows * tower.width_)),
        dlogits(arena.Add(rows)) {
    arena.Allocate();
  }

  void Prepare(std::int64_t unit_rows, bool backward) override {
    for (std::int64_t first = 0; first < unit_rows; first += kMicroBatch) {
      const std::int64_t of_micro_batch = std::min(kMicroBatch, unit_rows - first);
      std::optional<Accumulate> accumulate;
      if (backward) accumulate = OfMicroBatch(first);
      dense_arch.Prepare(of_micro_batch, accumulate);
      interaction->Prepare(of_micro_batch, accumulate);
      over_arch.Prepare(of_micro_batch, accumulate);
    }
  }
  std::int64_t products_made() const override { return scratch.gemms(); }

  // Whether the micro-batch that starts at this row of a unit adds to the unit's gradient.
  static Accumulate OfMicroBatch(std::int64_t first) {
    return first == 0 ? Accumulate::kNo : Accumulate::kYes;
  }

  GemmScratch scratch;
  Arena arena;
  std::int64_t rows;
  MlpRunner dense_arch;
  std::unique_ptr<InteractionRunner> interaction;
  MlpRunner over_arch;
  std::int64_t dense;  // arena number: the dense input with its padding, which stays zero
  std::int64_t dx;     // the gradient of x
  std::int64_t dlogits;
};

// The micro-batch of a unit that starts at its row `first`.
TowerBatch DlrmTower::Rows(const TowerBatch& batch, std::int64_t first) const {
  TowerBatch out = batch;
  out.rows = std::min(kMicroBatch, batch.rows - first);
  out.dense += first * config_.num_dense;
  out.x += first * width_;
  out.logits += first;
  if (batch.labels != nullptr) out.labels += first;
  if (batch.sample_weights != nullptr) out.sample_weights += first;
  out.first_pooled += first;
  return out;
}

DlrmTower::DlrmTower(const ModelConfig& config) : Tower(config) {
  Validate(config_);
  width_ = config_.InteractionWidth();
  feature_dims_ = config_.FeatureDims();
  dense_arch_ = std::make_unique<Mlp>(parameters_, "dense_arch.model._mlp", config_.num_dense,
                                      config_.dense_arch, kDensePadding, false, kMicroBatch);
  if (config_.interaction == Interaction::kCross) {
    interaction_ = std::make_unique<CrossNet>(parameters_, "inter_arch.crossnet", width_,
                                              config_.dcn_low_rank, config_.dcn_num_layers, kMicroBatch);
  } else {
    interaction_ = std::make_unique<DotInteraction>(config_.num_features(), config_.dense_dim());
  }
  const std::int64_t padding = interaction_->out() == interaction_->out_padded() ? 1 : kOverPadding;
  const std::span<const std::int64_t> hidden(config_.over_arch.data(), config_.over_arch.size() - 1);
  over_arch_ = std::make_unique<Mlp>(parameters_, "over_arch.model.0._mlp", interaction_->out(), hidden,
                                     padding, true, kMicroBatch);
  output_ = AddLinear(parameters_, "over_arch.model.1", hidden.empty() ? interaction_->out() : hidden.back(),
                      1, false, hidden.empty() ? padding : 1);
  output_in_ = hidden.empty() ? interaction_->out_padded() : hidden.back();
  dense_padded_ = dense_arch_->layers().front().in();
  parameters_.Allocate();
  for (Linear* layer : linears()) {
    for (int number = 0; number < layer->num_packs(); ++number) pack_jobs_.push_back({layer, number});
  }
  std::stable_sort(pack_jobs_.begin(), pack_jobs_.end(), [](const LayerPack& a, const LayerPack& b) {
    return a.layer->in() * a.layer->out() > b.layer->in() * b.layer->out();
  });
}

std::vector<Linear*> DlrmTower::linears() {
  std::vector<Linear*> all;
  for (Linear& layer : dense_arch_->layers()) all.push_back(&layer);
  for (Linear* layer : interaction_->linears()) all.push_back(layer);
  for (Linear& layer : over_arch_->layers()) all.push_back(&layer);
  return all;
}

void DlrmTower::Initialize(std::uint64_t seed, ThreadPool& pool) {
  const auto initialize_linear = [&](const LinearSpec& spec) {
    const std::int64_t fan_in = parameters_.list()[Index(spec.weight)].rows;
    const double bound = fan_in > 0 ? 1.0 / std::sqrt(static_cast<double>(fan_in)) : 0.0;
    InitUniform(parameters_, spec.weight, bound, seed, pool);
    InitUniform(parameters_, spec.bias.value(), bound, seed, pool);
  };
  for (const Linear& layer : dense_arch_->layers()) initialize_linear(layer.spec());
  for (const Linear* layer : interaction_->linears()) {
    const Parameter& weight = parameters_.list()[Index(layer->spec().weight)];
    InitNormal(parameters_, layer->spec().weight,
               std::sqrt(2.0 / static_cast<double>(weight.rows + weight.columns)), seed, pool);
  }
  for (const Linear& layer : over_arch_->layers()) initialize_linear(layer.spec());
  initialize_linear(output_);
}

std::unique_ptr<TowerWorkspace> DlrmTower::MakeWorkspace(std::int64_t max_rows) const {
  return std::make_unique<Workspace>(*this, max_rows);
}

void DlrmTower::PackJob(std::int64_t job) {
  const LayerPack& pack = pack_jobs_[Index(job)];
  pack.layer->Pack(pack.number);
}

DlrmTower::Activations DlrmTower::ForwardRows(const TowerBatch& rows, Workspace& workspace) const {
  const std::int64_t dim = config_.dense_dim();
  float* dense = workspace.arena.at(workspace.dense);
  CopyRows(rows.dense, config_.num_dense, rows.rows, config_.num_dense, dense, dense_padded_);
  const float* bottom = workspace.dense_arch.Forward(rows.rows, dense);
  CopyRows(bottom, dim, rows.rows, dim, rows.x, width_);
  Activations kept;
  kept.z = workspace.interaction->Forward(rows.rows, rows.x);
  kept.h = workspace.over_arch.Forward(rows.rows, kept.z);
  OutputForward(kept.h, parameters_.weights(output_.weight), *parameters_.weights(*output_.bias), rows.rows,
                output_in_, rows.logits);
  return kept;
}

void DlrmTower::BackwardRows(const TowerBatch& rows, const Activations& kept, Accumulate accumulate,
                             float* gradient, Workspace& workspace) const {
  const auto list = parameters_.list();
  const auto offset = [&](std::int64_t index) { return list[Index(index)].offset; };
  const float* dlogits = workspace.arena.at(workspace.dlogits);
  float* dbias = gradient + offset(*output_.bias);
  if (accumulate == Accumulate::kNo) *dbias = 0.0F;
  for (std::int64_t row = 0; row < rows.rows; ++row) *dbias += dlogits[row];

  MlpRunner& over = workspace.over_arch;
  float* dz = workspace.interaction->output_gradient();
  OutputBackward(kept.h, parameters_.weights(output_.weight), dlogits, rows.rows, output_in_, accumulate,
                 gradient + offset(output_.weight), over.empty() ? dz : over.output_gradient(),
                 over.empty() ? nullptr : over.OutputBiasGradient(gradient));
  over.Backward(rows.rows, kept.z, accumulate, gradient, dz);
  float* dx = workspace.arena.at(workspace.dx);
  workspace.interaction->Backward(rows.rows, rows.x, accumulate, gradient, dx);
  std::int64_t column = config_.dense_dim();
  for (std::size_t f = 0; f < feature_dims_.size(); ++f) {
    const PooledPlace& place = rows.dpooled.places[f];
    CopyRows(dx + column, width_, rows.rows, feature_dims_[f],
             rows.dpooled.Row(static_cast<std::int64_t>(f), rows.first_pooled), place.stride);
    column += feature_dims_[f];
  }

  MlpRunner& bottom = workspace.dense_arch;
  bottom.MaskOutputGradient(rows.rows, dx, width_, accumulate, gradient);
  bottom.Backward(rows.rows, workspace.arena.at(workspace.dense), accumulate, gradient, nullptr);
}

void DlrmTower::Forward(const TowerBatch& batch, TowerWorkspace& workspace) const {
  auto& scratch = dynamic_cast<Workspace&>(workspace);
  HOTROW_CHECK(batch.rows <= scratch.rows || scratch.rows == kMicroBatch);
  for (std::int64_t first = 0; first < batch.rows; first += kMicroBatch) {
    ForwardRows(Rows(batch, first), scratch);
  }
}

double DlrmTower::ForwardBackward(const TowerBatch& batch, std::span<float> gradient,
                                  TowerWorkspace& workspace) const {
  HOTROW_CHECK(static_cast<std::int64_t>(gradient.size()) == parameters_.padded_size());
  auto& scratch = dynamic_cast<Workspace&>(workspace);
  HOTROW_CHECK(batch.rows <= scratch.rows || scratch.rows == kMicroBatch);
  HOTROW_CHECK(batch.rows == 0 || config_.num_features() == 0 || batch.dpooled.data != nullptr);
  if (batch.rows == 0) {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    return 0.0;
  }
  double loss = 0.0;
  for (std::int64_t first = 0; first < batch.rows; first += kMicroBatch) {
    const TowerBatch rows = Rows(batch, first);
    const Activations kept = ForwardRows(rows, scratch);
    loss = BceWithLogits(rows.logits, rows.labels, rows.sample_weights, rows.rows, batch.gradient_scale, loss,
                         scratch.arena.at(scratch.dlogits));
    BackwardRows(rows, kept, Workspace::OfMicroBatch(first), gradient.data(), scratch);
  }
  parameters_.ZeroPadding(gradient.data());
  return loss;
}

std::unique_ptr<Tower> MakeTower(const ModelConfig& config, std::uint64_t seed, ThreadPool& pool) {
  auto tower = std::make_unique<DlrmTower>(config);
  tower->Initialize(seed, pool);
  tower->Pack(pool);
  return tower;
}

}  // namespace hotrow

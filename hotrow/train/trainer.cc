#include "hotrow/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/base/tree_sum.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/thread_ranks.h"
#include "hotrow/plan/make_plan.h"
#include "hotrow/plan/units_of_ranks.h"
#include "hotrow/sharded/table_shapes.h"
#include "hotrow/train/config_text.h"

namespace hotrow {
namespace {

// Before anything is made: a rank that differs would take part in other collectives than its peers.
const TrainerConfig& Validated(const TrainerConfig& config, Communicator& comm) {
  Validate(config.model);
  Validate(config.dense_optimizer);
  Validate(config.schedule);
  if (!(std::isfinite(config.clip_norm) && config.clip_norm >= 0)) {
    Fail("clip_norm is {}, must be finite and >= 0", config.clip_norm);
  }
  ValidateReductionUnits(config.reduction_units, comm.size());
  const std::string text = ConfigText(config);
  CheckAgreement(comm, std::as_bytes(std::span(text)), "the configuration");
  return config;
}

ShardingPlan PlanOf(const TrainerConfig& config, std::int64_t world) {
  if (config.plan) return *config.plan;
  return MakePlan(PlanKind::kTableWise, TableShapes(config.model.tables, config.model.features), world);
}

}  // namespace

Trainer::Trainer(const TrainerConfig& config, Communicator& comm, ThreadPool& pool)
    : Trainer(config, nullptr, &comm, pool) {}

Trainer::Trainer(const TrainerConfig& config, ThreadPool& pool)
    : Trainer(config, MakeSoleRank(), nullptr, pool) {}

Trainer::Trainer(const TrainerConfig& config, std::unique_ptr<Communicator> own, Communicator* comm,
                 ThreadPool& pool)
    : own_comm_(std::move(own)),
      comm_(own_comm_ ? *own_comm_ : *comm),
      pool_(pool),
      config_(Validated(config, comm_)),
      dense_(config_.model, config_.dense_optimizer, config_.clip_norm, config_.reduction_units, config_.seed,
             comm_, pool),
      embeddings_(config_.model.tables, config_.model.features, PlanOf(config_, comm_.size()),
                  {.kernel = config_.kernel, .storage = config_.storage, .seed = config_.seed}, config_.dist,
                  comm_, pool),
      table_bytes_(AllReduceSum<std::int64_t>(comm_, embeddings_.LogicalBytes())),
      width_(config_.model.InteractionWidth()),
      feature_dims_(config_.model.FeatureDims()),
      places_(SampleMajorPlaces(feature_dims_, config_.model.dense_dim())),
      next_{embeddings_.MakeContext()},
      now_{embeddings_.MakeContext()} {
  for (std::int64_t f = 0; f < config_.model.num_features(); ++f) {
    table_rows_.push_back(embeddings_.table_config(embeddings_.TableOfFeature(f)).num_embeddings);
  }
  present_gradients_.resize(Index(dense_.num_units()));
  unit_losses_.resize(present_gradients_.size());
  unit_weights_.resize(present_gradients_.size());
  workspaces_.resize(Index(pool.size()));
  Verify();
}

void Trainer::CheckBatch(const Batch& batch, bool labels) const {
  const auto samples = Index(batch.size);
  HOTROW_CHECK(batch.size >= 0);
  HOTROW_CHECK(batch.dense.size() == samples * Index(config_.model.num_dense));
  HOTROW_CHECK(batch.sparse.batch_size() == batch.size);
  HOTROW_CHECK(batch.sparse.num_features() == config_.model.num_features());
  HOTROW_CHECK(!labels || batch.labels.size() == samples);
  HOTROW_CHECK(!labels || batch.sample_weights.size() == (config_.sample_weights ? samples : 0));
  HOTROW_CHECK(batch.rank_samples.empty() || std::ssize(batch.rank_samples) == comm_.size());
}

void Trainer::EnsureCapacity(std::int64_t samples) {
  x_.EnsureSize(CheckedMul(samples, width_));
  logits_.EnsureSize(samples);
}

void Trainer::EnsureGradients() {
  dense_.gradients();
  const std::int64_t longest = *std::max_element(now_.samples.begin(), now_.samples.end());
  dpooled_.EnsureSize(CheckedMul(longest, width_ - config_.model.dense_dim()));
  FeatureMajorPlaces(longest, feature_dims_, gradient_places_);
}

// For the batch's units, whose sizes are two at most, in pieces of at most `max_rows` rows. All threads'
// workspaces and products are made now: a thread may come to its first unit of a size long after the others.
void Trainer::EnsureWorkspaces(std::int64_t max_rows, const Batch& batch, bool backward) {
  if (max_rows > workspace_rows_) {
    workspace_rows_ = max_rows;
    for (auto& workspace : workspaces_) workspace = tower().MakeWorkspace(max_rows);
    prepared_ = {};
  }
  const PreparedFor units{UnitSlice(batch.size, 0).size(),
                          UnitSlice(batch.size, dense_.num_units() - 1).size(), backward};
  if (units.largest_unit == 0 || units == prepared_) return;
  pool_.Run(pool_.size(), [&](std::int64_t owner, int) {
    TowerWorkspace& workspace = Workspace(static_cast<int>(owner));
    workspace.Prepare(units.largest_unit, backward);
    workspace.Prepare(units.smallest_unit, backward);
  });
  prepared_ = units;
}

std::int64_t Trainer::products_made() const {
  std::int64_t products = 0;
  for (const auto& workspace : workspaces_) products += workspace ? workspace->products_made() : 0;
  return products;
}

TowerWorkspace& Trainer::Workspace(int thread) { return *workspaces_[Index(thread)]; }

// EvenSlice gives the first units the larger parts, so a rank's slice is cut as the global batch is.
Slice Trainer::UnitSlice(std::int64_t samples, std::int64_t unit) const {
  return EvenSlice(samples, dense_.num_units(), unit);
}

TowerBatch Trainer::UnitRows(const Batch& batch, Slice rows, double gradient_scale) {
  TowerBatch unit;
  unit.rows = rows.size();
  unit.dense = batch.dense.data() + rows.begin * config_.model.num_dense;
  unit.x = x_.data() + rows.begin * width_;
  unit.labels = batch.labels.empty() ? nullptr : batch.labels.data() + rows.begin;
  unit.sample_weights = batch.sample_weights.empty() ? nullptr : batch.sample_weights.data() + rows.begin;
  unit.logits = logits_.data() + rows.begin;
  unit.gradient_scale = gradient_scale;
  return unit;
}

void Trainer::RunTower(const Batch& batch, double gradient_scale) {
  const Tower& tower = dense_.tower();
  UnitGradients& gradients = dense_.gradients();
  TaskClock units(dense_.num_units(), pool_.size());
  pool_.Run(dense_.num_units(), [&](std::int64_t u, int thread) {
    const auto index = Index(u);
    const Slice rows = UnitSlice(batch.size, u);
    present_gradients_[index] = nullptr;
    if (rows.size() > 0) {
      const TraceSpan span(tracer_, TraceName::kUnit, thread);
      const std::span<float> gradient = gradients.at(u);
      TowerBatch unit = UnitRows(batch, rows, gradient_scale);
      unit.dpooled = {dpooled_.data(), gradient_places_};
      unit.first_pooled = rows.begin;
      unit_losses_[index] = tower.ForwardBackward(unit, gradient, Workspace(thread));
      present_gradients_[index] = gradient.data();
    }
    units.TaskEnded();
    if (thread == 0) ProgressBesideTower(units);
  });
}

// On the rank's own thread, between two units: what peers sent meanwhile moves on. Those are the next batch's
// ids, so this is input dist, inside the span of the dense phase.
void Trainer::ProgressBesideTower(const TaskClock& units) {
  if (next_.batch == nullptr) return comm_.Progress();
  const double begin = NowSeconds();
  {
    const TraceSpan span(tracer_, Phase::kInputDist);
    comm_.Progress();
  }
  const double end = NowSeconds();
  phases_.Add(Phase::kInputDist, end - begin);
  phases_.Add(Phase::kDense, begin - end);
  phases_.AddOverlapped(Phase::kInputDist, units.Overlapped(begin, end));
}

// Of this rank's units, in the order of every other sum over units.
double Trainer::SumOverUnits(std::span<const double> values) const {
  double slots[65];
  TreeStack stack;
  const auto merge = [&](int into, int from) { slots[into] += slots[from]; };
  for (std::size_t u = 0; u < values.size(); ++u) {
    if (UnitSlice(samples_, static_cast<std::int64_t>(u)).size() == 0) continue;
    const int slot = stack.Push(u, merge);
    slots[slot] = values[u];
  }
  return stack.Finish(merge) ? slots[0] : 0.0;
}

// What the loss is divided by: the samples of all ranks, or their weights' sum in double.
double Trainer::TotalWeight(const Batch& batch, std::int64_t samples) {
  if (!config_.sample_weights) return static_cast<double>(samples);
  for (std::int64_t u = 0; u < dense_.num_units(); ++u) {
    const Slice rows = UnitSlice(batch.size, u);
    unit_weights_[Index(u)] = std::accumulate(batch.sample_weights.begin() + rows.begin,
                                              batch.sample_weights.begin() + rows.end, 0.0);
  }
  return AllReduceSum<double>(comm_, SumOverUnits(unit_weights_), batch.size > 0);
}

OptimizerStep Trainer::StepOfOptimizers() const { return {step_, RateFactor(config_.schedule, step_)}; }

void Trainer::StartBatch(Batch& batch, InFlight& flight) {
  flight.samples = batch.rank_samples;
  if (flight.samples.empty()) flight.samples = AllGather(comm_, batch.size);
  HOTROW_CHECK(flight.samples[Index(comm_.rank())] == batch.size);
  embeddings_.StartInputDist(batch.sparse, flight.context, flight.samples);
}

float Trainer::Step(Batch& batch, Batch* next) {
  if (tracer_ != nullptr) tracer_->SetStep(step_);
  const TraceSpan step_span(tracer_, TraceName::kStep);
  HOTROW_CHECK(next_.batch == nullptr || next_.batch == &batch);
  CheckBatch(batch, true);
  if (next != nullptr) CheckBatch(*next, true);
  std::swap(now_, next_);
  next_.batch = nullptr;
  if (std::exchange(now_.batch, nullptr) == nullptr) {
    now_.bad_ids = CheckIds(batch.sparse, table_rows_, config_.bad_ids, batch.first_sample);
    StartBatch(batch, now_);
  } else if (now_.bad_id) {
    std::rethrow_exception(std::exchange(now_.bad_id, nullptr));
  }
  bad_id_count_ += now_.bad_ids;
  const std::int64_t global = std::accumulate(now_.samples.begin(), now_.samples.end(), std::int64_t{0});
  HOTROW_CHECK(global > 0);
  samples_ = batch.size;
  EnsureCapacity(batch.size);
  EnsureGradients();
  EnsureWorkspaces(UnitSlice(batch.size, 0).size(), batch, true);
  const double total_weight = TotalWeight(batch, global);

  embeddings_.FinishInputDist(now_.context);
  ++step_;
  embeddings_.Forward(now_.context, {x_.data(), places_});
  if (next != nullptr) StartAhead(*next);
  {
    const TracedPhase phase(phases_, tracer_, Phase::kDense);
    RunTower(batch, total_weight > 0 ? 1.0 / total_weight : 0.0);
  }
  if (next != nullptr) embeddings_.ContinueInputDist(next_.context);
  const std::int64_t moved = dense_.moved_bytes();
  {
    const TracedPhase phase(phases_, tracer_, Phase::kDenseAllReduce);
    dense_.StartReduce(present_gradients_);
  }
  embeddings_.Backward(now_.context, {dpooled_.data(), gradient_places_}, config_.reduction_units,
                       StepOfOptimizers());
  const double loss = FinishDense(moved);
  return total_weight > 0 ? static_cast<float>(loss / total_weight) : 0.0F;
}

void Trainer::StartAhead(Batch& next) {
  try {
    next_.bad_ids = CheckIds(next.sparse, table_rows_, config_.bad_ids, next.first_sample);
  } catch (const Error&) {
    // It fails at its own step. Until then its ids travel, since the other ranks wait for them.
    next_.bad_id = std::current_exception();
    CheckIds(next.sparse, table_rows_, BadIds::kSkip, next.first_sample);
  }
  StartBatch(next, next_);
  next_.batch = &next;
}

void Trainer::DropNext() {
  if (std::exchange(next_.batch, nullptr) == nullptr) return;
  next_.bad_id = nullptr;
  embeddings_.FinishInputDist(next_.context);
}

double Trainer::FinishDense(std::int64_t moved_before) {
  loss_ = SumOverUnits(unit_losses_);
  {
    const TracedPhase phase(phases_, tracer_, Phase::kDenseAllReduce);
    loss_sum_.StartAllReduce(comm_, {&loss_, 1}, samples_ > 0);
    loss_sum_.Wait();
    dense_.FinishReduce();
  }
  {
    const TracedPhase phase(phases_, tracer_, Phase::kDenseOptimizer);
    dense_.Update(StepOfOptimizers());
  }
  const std::int64_t bytes = dense_.moved_bytes() - moved_before;
  bytes_.Add(Phase::kDenseAllReduce, bytes);
  if (tracer_ != nullptr) tracer_->AddBytes(ToTraceName(Phase::kDenseAllReduce), bytes);
  if (config_.verify_every > 0 && step_ % config_.verify_every == 0) Verify();
  return loss_;
}

void Trainer::Predict(Batch& batch, std::span<float> logits) {
  CheckBatch(batch, false);
  HOTROW_CHECK(std::ssize(logits) == batch.size);
  bad_id_count_ += CheckIds(batch.sparse, table_rows_, config_.bad_ids, batch.first_sample);
  // next_ may be in flight; the step before has ended.
  StartBatch(batch, now_);
  EnsureCapacity(batch.size);
  const std::int64_t micro_batch = tower().micro_batch();
  const std::int64_t unit_rows = UnitSlice(batch.size, 0).size();
  EnsureWorkspaces(std::min(micro_batch, unit_rows), batch, false);
  embeddings_.FinishInputDist(now_.context);
  embeddings_.Forward(now_.context, {x_.data(), places_});
  const std::int64_t pieces = CeilDiv(unit_rows, micro_batch);  // of a unit
  pool_.Run(dense_.num_units() * pieces, [&](std::int64_t task, int thread) {
    const Slice unit = UnitSlice(batch.size, task / pieces);
    Slice rows;
    rows.begin = unit.begin + task % pieces * micro_batch;
    rows.end = std::min(unit.end, rows.begin + micro_batch);
    if (rows.begin < rows.end) dense_.tower().Forward(UnitRows(batch, rows, 1.0), Workspace(thread));
  });
  std::copy_n(logits_.data(), batch.size, logits.data());
}

void Trainer::Verify() {
  if (comm_.size() == 1) return;
  const TraceSpan span(tracer_, TraceName::kVerify);
  const std::uint64_t mine[] = {dense_.ReplicaHash(), embeddings_.ReplicaHash()};
  CheckAgreement(comm_, std::as_bytes(std::span(mine)),
                 step_ == 0 ? "the initial weights" : fmt::format("the weights after step {}", step_));
}

std::uint64_t Trainer::WeightsHash() {
  // Rank 0 alone reads the dense weights, which may be changed by it as soon as this returns.
  return AllReduceSum(comm_, embeddings_.WeightsHash() + (comm_.rank() == 0 ? dense_.WeightsHash() : 0));
}

std::uint64_t Trainer::StateHash() {
  return AllReduceSum(comm_, embeddings_.StateHash() + dense_.StateHash());
}

PhaseTimes Trainer::phases() const {
  PhaseTimes all = phases_;
  all.Add(embeddings_.phases());
  return all;
}

PhaseBytes Trainer::bytes() const {
  PhaseBytes all = bytes_;
  all.Add(embeddings_.bytes());
  return all;
}

void Trainer::ResetPhases() {
  phases_.Reset();
  bytes_.Reset();
  embeddings_.phases().Reset();
  embeddings_.bytes().Reset();
}

void Trainer::set_tracer(Tracer* tracer) {
  tracer_ = tracer;
  embeddings_.set_tracer(tracer);
}

}  // namespace hotrow

#include "hotrow/train/data_parallel_tower.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/plan/units_of_ranks.h"

namespace hotrow {

namespace {

// Every thread of the pool claims tasks, numbered [0, tasks), that the threads of other ranks claim from too.
template <typename Body>
void ClaimTasks(std::atomic<std::int64_t>& next, std::int64_t tasks, ThreadPool& pool, Body&& body) {
  pool.Run(pool.size(), [&](std::int64_t, int) {
    for (std::int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) body(task);
  });
}

}  // namespace

DataParallelTower::Shared::Shared(const ModelConfig& model, const OptimizerConfig& optimizer_config,
                                  std::uint64_t seed, ThreadPool& pool)
    : made(MakeTower(model, seed, pool)), optimizer(optimizer_config, made->parameters()) {}

DataParallelTower::DataParallelTower(const ModelConfig& model, const OptimizerConfig& optimizer,
                                     double clip_norm, std::int64_t units, std::uint64_t seed,
                                     Communicator& comm, ThreadPool& pool)
    : comm_(comm), pool_(pool), clip_norm_(clip_norm), num_units_(units / comm.size()) {
  ValidateReductionUnits(units, comm.size());
  shared_ = MakeShared(comm, [&] { return std::make_shared<Shared>(model, optimizer, seed, pool); });
  if (clip_norm_ <= 0 || !owns_weights()) return;
  const std::int64_t size = tower().parameters().padded_size();
  shared_->sum.EnsureSize(size);
  shared_->squares.resize(Index(CeilDiv(size, DenseUpdate::kPart)));
}

UnitGradients& DataParallelTower::gradients() {
  if (!gradients_) gradients_.emplace(tower().parameters().padded_size(), num_units_);
  return *gradients_;
}

void DataParallelTower::StartReduce(std::span<const float* const> own) {
  own_.assign(own.begin(), own.end());
  if (!gradients_travel()) return;
  SumOwnUnits();
  const std::span<float> sum = gradients().at(0);
  const Slice slice = ReduceSlice(comm_, std::ssize(sum), comm_.rank());
  const bool any = std::any_of(own_.begin(), own_.end(), [](const float* unit) { return unit != nullptr; });
  const std::int64_t before = comm_.sent(Op::kReduceScatter);
  sum_.StartReduceScatter(comm_, sum, sum.subspan(Index(slice.begin), Index(slice.size())), any);
  moved_bytes_ += comm_.sent(Op::kReduceScatter) - before;
}

// The tree's block of this rank, into the first unit's buffer.
void DataParallelTower::SumOwnUnits() {
  if (num_units_ == 1) return;
  constexpr std::int64_t kPart = 1 << 14;
  const std::int64_t size = tower().parameters().padded_size();
  sources_.resize(Index(pool_.size()));
  pool_.Run(CeilDiv(size, kPart), [&](std::int64_t part, int thread) {
    const std::int64_t begin = part * kPart;
    const std::int64_t count = std::min(kPart, size - begin);
    std::vector<const float*>& units = sources_[Index(thread)];
    units.clear();
    for (std::int64_t u = 0; u < num_units_; ++u) {
      float* unit = gradients_->at(u).data() + begin;
      // What leaves any sum's bits alone stands in for a unit without samples.
      if (own_[Index(u)] == nullptr) std::fill_n(unit, count, -0.0F);
      units.push_back(unit);
    }
    TreeSum<float>(units, count, gradients_->at(0).data() + begin);
  });
}

void DataParallelTower::FinishReduce() {
  if (comm_.size() == 1) return;
  if (gradients_travel()) {
    sum_.Wait();
    return;
  }
  if (comm_.rank() == 0) {
    // Everyone is done with the last step's tasks, and no one begins this one's before rank 0 shares.
    shared_->next_sum = 0;
    shared_->next_part = 0;
    shared_->next_pack = 0;
  }
  peers_.emplace(comm_, std::span<const float* const>(own_));
  all_.clear();
  for (const auto& of_rank : peers_->spans()) all_.insert(all_.end(), of_rank.begin(), of_rank.end());
  const auto count = [](const std::vector<const float*>& units) {
    return std::ssize(units) - std::count(units.begin(), units.end(), nullptr);
  };
  peer_units_ = count(all_) - count(own_);
}

void DataParallelTower::Update(OptimizerStep step) {
  if (gradients_travel()) {
    UpdateSlice(step);
  } else {
    UpdateShared(step);
  }
}

// Scales a gradient, the squares of whose parts are given, to the norm that it may have at the most.
float DataParallelTower::ClipFactor(std::span<const double> squares) const {
  const double norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
  return norm > clip_norm_ ? static_cast<float>(clip_norm_ / norm) : 1.0F;
}

// The sum of update_'s gradients and the squares of its parts, by all ranks that share them.
void DataParallelTower::SumParts() {
  const std::int64_t size = tower().parameters().padded_size();
  const std::int64_t parts = CeilDiv(size, DenseUpdate::kPart);
  ClaimTasks(shared_->next_sum, parts, pool_, [&](std::int64_t part) {
    const std::int64_t begin = part * DenseUpdate::kPart;
    shared_->squares[Index(part)] = update_.SumGradients({begin, std::min(size, begin + DenseUpdate::kPart)},
                                                         shared_->sum.data() + begin);
  });
  if (comm_.size() > 1) comm_.Barrier();
}

void DataParallelTower::UpdateShared(OptimizerStep step) {
  const bool alone = comm_.size() == 1;
  if (alone) shared_->next_part = shared_->next_sum = 0;
  Parameters& parameters = tower().parameters();
  update_.Begin(shared_->optimizer, parameters, alone ? own_ : all_, step);
  const std::int64_t size = parameters.padded_size();
  if (clip_norm_ > 0) {
    SumParts();
    const float* const sum = shared_->sum.data();
    update_.Begin(shared_->optimizer, parameters, {&sum, 1}, step, ClipFactor(shared_->squares));
  }
  std::atomic<std::int64_t> elements{0};
  ClaimTasks(shared_->next_part, CeilDiv(size, DenseUpdate::kPart), pool_, [&](std::int64_t part) {
    const std::int64_t begin = part * DenseUpdate::kPart;
    const Slice slice{begin, std::min(size, begin + DenseUpdate::kPart)};
    update_.Run(slice);
    elements.fetch_add(slice.size(), std::memory_order_relaxed);
  });
  if (alone) {
    tower().Pack(pool_);
    return;
  }
  moved_bytes_ += elements * peer_units_ * static_cast<std::int64_t>(sizeof(float));
  comm_.Barrier();
  PackShared();
  peers_->Release();
  peers_.reset();
}

void DataParallelTower::PackShared() {
  ClaimTasks(shared_->next_pack, tower().num_pack_jobs(), pool_,
             [&](std::int64_t job) { tower().PackJob(job); });
}

void DataParallelTower::UpdateSlice(OptimizerStep step) {
  Parameters& parameters = tower().parameters();
  const std::int64_t size = parameters.padded_size();
  const float* const sum = gradients_->at(0).data();
  update_.Begin(shared_->optimizer, parameters, {&sum, 1}, step);
  if (clip_norm_ > 0) {
    // Parts do not end where ranks' slices do, and their squares are summed in one order whatever the ranks:
    // so every rank sums all of them.
    const std::int64_t before = comm_.sent();
    StartAllGatherSlices<float>(comm_, gradients_->at(0)).Wait();
    moved_bytes_ += comm_.sent() - before;
    shared_->next_sum = 0;
    SumParts();
    update_.Begin(shared_->optimizer, parameters, {&sum, 1}, step, ClipFactor(shared_->squares));
  }
  const Slice mine = ReduceSlice(comm_, size, comm_.rank());
  pool_.Run(CeilDiv(mine.size(), DenseUpdate::kPart), [&](std::int64_t part, int) {
    const std::int64_t begin = mine.begin + part * DenseUpdate::kPart;
    update_.Run({begin, std::min(mine.end, begin + DenseUpdate::kPart)});
  });
  const std::int64_t before = comm_.sent();
  StartAllGatherSlices<float>(comm_, {parameters.weights(), Index(size)}).Wait();
  moved_bytes_ += comm_.sent() - before;
  tower().Pack(pool_);
}

void DataParallelTower::Repack() {
  if (comm_.size() == 1 || gradients_travel()) {
    tower().Pack(pool_);
    return;
  }
  if (comm_.rank() == 0) shared_->next_pack = 0;
  comm_.Barrier();
  PackShared();
  comm_.Barrier();
}

std::uint64_t DataParallelTower::WeightsHash() const {
  const Parameters& parameters = tower().parameters();
  return parameters.Hash(parameters.weights());
}

std::uint64_t DataParallelTower::ReplicaHash() const { return gradients_travel() ? WeightsHash() : 0; }

std::uint64_t DataParallelTower::StateHash() {
  const std::int64_t size = tower().parameters().padded_size();
  if (gradients_travel()) {
    // Elsewhere than in a rank's own slice the state was never written.
    const std::span<float> state = shared_->optimizer.state();
    for (std::int64_t plane = 0; plane * size < std::ssize(state); ++plane) {
      StartAllGatherSlices<float>(comm_, state.subspan(Index(plane * size), Index(size))).Wait();
    }
  }
  return comm_.rank() == 0 ? shared_->optimizer.StateHash(tower().parameters()) : 0;
}

std::int64_t DataParallelTower::Bytes() const {
  const std::int64_t floats =
      tower().parameters().padded_size() + static_cast<std::int64_t>(shared_->optimizer.state().size());
  return floats * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace hotrow

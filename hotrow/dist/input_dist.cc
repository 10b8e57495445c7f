#include "hotrow/dist/input_dist.h"

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/dist/input_slot.h"

namespace hotrow {

InputDist::InputDist(const ShardingPlan& plan, std::span<const TableShape> model, std::int64_t num_features,
                     const DistOptions& options, Communicator& comm, ThreadPool& pool)
    : comm_(comm),
      pool_(pool),
      engines_(new Engines{hotrow::Recat(options.recat), hotrow::Recat(options.recat)}) {
  HOTROW_CHECK(plan.world == comm.size() && plan.tables.size() == model.size());
  if (!plan.tables.empty()) {
    const TablePlan& largest = *std::ranges::max_element(plan.tables, {}, &TablePlan::rows);
    id_bytes_ = WireIdBytes(options.id_bytes, largest.table, largest.rows);
  }
  routes_.resize(Index(num_features));
  MakeRoutes(plan, model);
  for (std::int64_t r = 0; r < plan.world; ++r) features_of_rank_.push_back(FeaturesOfRank(plan, model, r));
  ShareOutPacks();
  for (auto& slot : slots_) {
    slot = std::make_unique<Slot>();
    slot->packs.resize(packs_);
    for (std::size_t r = ranks(); r-- > 0;) slot->packs[pack_of_rank_[r]].rank = r;
    PlaceSplits(*slot);
  }
}

void InputDist::MakeRoutes(const ShardingPlan& plan, std::span<const TableShape> model) {
  for (std::size_t t = 0; t < model.size(); ++t) {
    const TablePlan& table = plan.tables[t];
    if (table.sharding != ShardingType::kRowWise && table.sharding != ShardingType::kGrid) continue;
    for (const std::int64_t f : model[t].features) {
      Route& route = routes_[Index(f)];
      route.split = true;
      route.rows = RowSplitOf(table, plan.world);
      route.buckets = CeilDiv(table.rows, route.rows.block_size);
      any_split_ = true;
    }
  }
}

void InputDist::ShareOutPacks() {
  for (std::size_t r = 0; r < ranks(); ++r) {
    const auto& mine = features_of_rank_[r];
    const bool whole =
        std::none_of(mine.begin(), mine.end(), [&](std::int64_t f) { return routes_[Index(f)].split; });
    std::size_t pack = packs_;
    for (std::size_t other = 0; whole && other < r; ++other) {
      if (features_of_rank_[other] == mine) pack = pack_of_rank_[other];
    }
    pack_of_rank_.push_back(pack);
    if (pack == packs_) ++packs_;
  }
}

void InputDist::PlaceSplits(Slot& slot) const {
  std::size_t splits = 0;
  for (std::size_t f = 0; f < routes_.size(); ++f) {
    const Route& route = routes_[f];
    if (!route.split) continue;
    for (std::size_t g = 0; g < route.rows.first_ranks.size(); ++g) {
      for (std::int64_t b = 0; b < route.buckets; ++b) {
        const auto rank = Index(route.rows.first_ranks[g] + b);
        const std::vector<std::int64_t>& features = features_of_rank_[rank];
        const auto place = std::find(features.begin(), features.end(), static_cast<std::int64_t>(f));
        HOTROW_CHECK(place != features.end());
        slot.split_places.push_back(
            {splits, Index(b), g > 0, &slot.packs[pack_of_rank_[rank]], Index(place - features.begin())});
      }
    }
    ++splits;
  }
}

InputDist::~InputDist() = default;

std::span<const std::int64_t> InputDist::features() const { return features_of_rank_[self()]; }

std::span<const std::int64_t> InputDist::samples(int slot) const { return slots_[Index(slot)]->samples; }

const FeatureBags& InputDist::bags(int slot, std::int64_t index, int source) const {
  const auto features = static_cast<std::int64_t>(features_of_rank_[self()].size());
  return slots_[Index(slot)]->bags[Index(source * features + index)];
}

std::int64_t InputDist::recat_plans_made() const { return engines_->ids.plans_made(); }

bool InputDist::IsJagged(const Slot& slot, std::int64_t feature) const {
  return slot.sizes[Index(feature)] == RecatShape::kJagged;
}

void InputDist::Start(const KeyedJaggedTensor& batch, int slot_index, std::span<const std::int64_t> samples) {
  HOTROW_CHECK(batch.num_features() == static_cast<std::int64_t>(routes_.size()));
  Slot& slot = *slots_[Index(slot_index)];
  slot.lengths_request.Wait();
  slot.payload_request.Wait();
  if (samples.empty()) {
    slot.samples = AllGather(comm_, batch.batch_size());
  } else {
    slot.samples.assign(samples.begin(), samples.end());
  }
  HOTROW_CHECK(slot.samples.size() == ranks() && slot.samples[self()] == batch.batch_size());
  slot.weighted = batch.is_weighted();
  slot.has_lengths = !batch.is_fixed() || any_split_;
  slot.sizes.resize(routes_.size());
  for (std::size_t f = 0; f < routes_.size(); ++f) {
    slot.sizes[f] = batch.is_fixed() && !routes_[f].split ? batch.fixed_sizes()[f] : RecatShape::kJagged;
  }
  PlacePacks(slot, batch);
  BucketizeLengths(slot, batch);
  SizePayloads(slot);
  CopyWholeFeatures(slot, batch);
  ScatterSplitFeatures(slot);
  slot.has_lengths ? StartLengths(slot) : StartPayload(slot);
}

void InputDist::Continue(int slot_index) {
  Slot& slot = *slots_[Index(slot_index)];
  if (!slot.lengths_pending) return;
  slot.lengths_request.WaitReceived();
  slot.lengths_pending = false;
  StartPayload(slot);
}

void InputDist::Finish(int slot_index) {
  Continue(slot_index);
  Slot& slot = *slots_[Index(slot_index)];
  slot.payload_request.WaitReceived();
  MakeOffsets(slot);
  const std::size_t features = features_of_rank_[self()].size();
  for (std::size_t s = 0; s < ranks(); ++s) {
    const std::byte* ids = slot.arrived.data() + slot.first_byte[s];
    const auto* weights = reinterpret_cast<const float*>(ids + slot.source_counts[s] * id_bytes_);
    for (std::size_t k = 0; k < features; ++k) {
      ViewBlock(slot, s * features + k, ids, slot.source_weighted[s] ? weights : nullptr);
      ids += slot.counts[s * features + k] * id_bytes_;
      weights += slot.counts[s * features + k];
    }
  }
}

}  // namespace hotrow

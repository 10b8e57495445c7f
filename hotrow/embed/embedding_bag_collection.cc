#include "hotrow/embed/embedding_bag_collection.h"

#include <algorithm>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/embed/fused_backward.h"
#include "hotrow/embed/pooled_lookup.h"
#include "hotrow/embed/table_hash.h"
#include "hotrow/embed/unfused_backward.h"
#include "hotrow/machine/system.h"

namespace hotrow {
namespace {

std::int64_t GradientBytes(const std::vector<EmbeddingTableConfig>& tables) {
  std::int64_t bytes = 0;
  for (const EmbeddingTableConfig& table : tables)
    bytes = CheckedAdd(bytes, UnfusedBackward::GradientBytes(table.num_embeddings, table.embedding_dim));
  return bytes;
}

}  // namespace

BackwardKernel ParseBackwardKernel(const std::string& text) {
  if (text == "fused") return BackwardKernel::kFused;
  if (text == "unfused") return BackwardKernel::kUnfused;
  Fail("unknown kernel '{}', must be one of: fused, unfused", text);
}

void CheckTableMemory(const EmbeddingOptions& options, std::int64_t row_bytes, std::int64_t gradient_bytes) {
  if (options.storage == StorageKind::kLazy) {
    if (options.kernel == BackwardKernel::kUnfused) {
      Fail("the unfused kernel updates every row and needs eager tables, not lazy ones");
    }
    return;
  }
  if (options.kernel == BackwardKernel::kFused) gradient_bytes = 0;
  const std::int64_t needed = CheckedAdd(row_bytes, gradient_bytes);
  const std::int64_t available = AvailableMemory();
  if (needed <= available) return;
  Fail(
      "embedding tables need {:.2f} GiB ({:.2f} GiB weights and optimizer state, {:.2f} GiB dense "
      "gradients of the unfused kernel); {:.2f} GiB are available (lazy tables with the fused kernel "
      "keep only the rows that were trained)",
      GiB(needed), GiB(row_bytes), GiB(gradient_bytes), GiB(available));
}

struct EmbeddingBagCollection::Impl {
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  std::vector<std::size_t> table_of_feature;
  // Per table, its features in the table's order.
  std::vector<std::vector<std::size_t>> features_of_table;
  BackwardKernel kernel = BackwardKernel::kFused;

  PooledLookup lookup;
  FusedBackward fused;
  UnfusedBackward unfused;
  std::vector<FeatureLookup> lookups;   // per feature, refilled each step
  std::vector<BagGradients> gradients;  // per table, refilled each step

  void CheckBatch(const KeyedJaggedTensor& batch, std::size_t places) const {
    HOTROW_CHECK(Index(batch.num_features()) == table_of_feature.size());
    HOTROW_CHECK(places == table_of_feature.size());
  }
};

EmbeddingBagCollection::EmbeddingBagCollection(std::vector<EmbeddingTableConfig> tables,
                                               std::vector<std::string> feature_names,
                                               const EmbeddingOptions& options, ThreadPool& pool)
    : impl_(std::make_unique<Impl>()) {
  Validate(tables);
  impl_->table_of_feature = TablesOfFeatures(tables, feature_names);
  CheckTableMemory(options, EagerBytes(tables), GradientBytes(tables));
  impl_->kernel = options.kernel;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    std::vector<std::size_t> features;
    for (const std::string& feature : tables[t].feature_names) {
      const auto found = std::find(feature_names.begin(), feature_names.end(), feature);
      features.push_back(Index(found - feature_names.begin()));
    }
    impl_->features_of_table.push_back(std::move(features));
    impl_->tables.push_back(std::make_unique<EmbeddingTable>(std::move(tables[t]), TableShard{},
                                                             options.storage, static_cast<std::int64_t>(t),
                                                             options.seed, pool));
    impl_->gradients.push_back({impl_->tables.back().get(), {}});
  }
}

EmbeddingBagCollection::~EmbeddingBagCollection() = default;

std::int64_t EmbeddingBagCollection::num_tables() const {
  return static_cast<std::int64_t>(impl_->tables.size());
}
EmbeddingTable& EmbeddingBagCollection::table(std::int64_t t) { return *impl_->tables[Index(t)]; }
const EmbeddingTable& EmbeddingBagCollection::table(std::int64_t t) const { return *impl_->tables[Index(t)]; }
std::int64_t EmbeddingBagCollection::TableOfFeature(std::int64_t f) const {
  return static_cast<std::int64_t>(impl_->table_of_feature[Index(f)]);
}

void EmbeddingBagCollection::Forward(const KeyedJaggedTensor& batch, PooledView<float> out,
                                     ThreadPool& pool) {
  Impl& impl = *impl_;
  impl.CheckBatch(batch, out.places.size());
  impl.lookups.clear();
  for (std::size_t f = 0; f < impl.table_of_feature.size(); ++f) {
    impl.lookups.push_back({impl.tables[impl.table_of_feature[f]].get(),
                            batch.feature(static_cast<std::int64_t>(f)), out.data + out.places[f].first,
                            out.places[f].stride});
  }
  impl.lookup.Run(impl.lookups, pool);
}

void EmbeddingBagCollection::Backward(const KeyedJaggedTensor& batch, PooledView<const float> gradient,
                                      std::int64_t reduction_units, OptimizerStep step, ThreadPool& pool) {
  Impl& impl = *impl_;
  impl.CheckBatch(batch, gradient.places.size());
  for (std::size_t t = 0; t < impl.tables.size(); ++t) {
    std::vector<FeatureGradient>& features = impl.gradients[t].features;
    features.clear();
    for (const std::size_t f : impl.features_of_table[t]) {
      features.push_back({batch.feature(static_cast<std::int64_t>(f)),
                          gradient.data + gradient.places[f].first, gradient.places[f].stride});
    }
  }
  if (impl.kernel == BackwardKernel::kFused) {
    impl.fused.Run(impl.gradients, step, reduction_units, pool);
  } else {
    impl.unfused.Run(impl.gradients, step, reduction_units, pool);
  }
}

std::uint64_t EmbeddingBagCollection::WeightsHash(ThreadPool& pool) const {
  std::uint64_t sum = 0;
  for (const auto& table : impl_->tables) sum += HashWeights(*table, pool);
  return sum;
}

std::uint64_t EmbeddingBagCollection::StateHash(ThreadPool& pool) const {
  std::uint64_t sum = 0;
  for (const auto& table : impl_->tables) sum += HashState(*table, pool);
  return sum;
}

std::int64_t EmbeddingBagCollection::LogicalBytes() const {
  std::int64_t bytes = 0;
  for (const auto& table : impl_->tables) bytes += table->LogicalBytes();
  return bytes;
}

}  // namespace hotrow

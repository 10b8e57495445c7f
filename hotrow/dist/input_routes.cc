#include "hotrow/dist/input_routes.h"

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

std::vector<FeatureRoute> RoutesOfFeatures(const ShardingPlan& plan, std::span<const TableShape> model,
                                           std::int64_t num_features) {
  std::vector<FeatureRoute> routes(Index(num_features));
  for (std::size_t t = 0; t < model.size(); ++t) {
    const TablePlan& table = plan.tables[t];
    if (table.sharding != ShardingType::kRowWise && table.sharding != ShardingType::kGrid) continue;
    for (const std::int64_t f : model[t].features) {
      FeatureRoute& route = routes[Index(f)];
      route.split = true;
      route.rows = RowSplitOf(table, plan.world);
      route.buckets = CeilDiv(table.rows, route.rows.block_size);
    }
  }
  return routes;
}

void ShareOutPacks(InputRoutes& routes) {
  for (std::size_t r = 0; r < routes.ranks(); ++r) {
    const auto& features = routes.features_of_rank[r];
    const bool whole = std::none_of(features.begin(), features.end(),
                                    [&](std::int64_t f) { return routes.features[Index(f)].split; });
    std::size_t pack = routes.rank_of_pack.size();
    for (std::size_t other = 0; whole && other < r; ++other) {
      if (routes.features_of_rank[other] == features) pack = routes.pack_of_rank[other];
    }
    routes.pack_of_rank.push_back(pack);
    if (pack == routes.rank_of_pack.size()) routes.rank_of_pack.push_back(r);
  }
}

void PlaceBuckets(InputRoutes& routes) {
  std::size_t splits = 0;
  for (std::size_t f = 0; f < routes.features.size(); ++f) {
    const FeatureRoute& route = routes.features[f];
    if (!route.split) continue;
    for (std::size_t g = 0; g < route.rows.first_ranks.size(); ++g) {
      for (std::int64_t b = 0; b < route.buckets; ++b) {
        const auto rank = Index(route.rows.first_ranks[g] + b);
        const std::vector<std::int64_t>& features = routes.features_of_rank[rank];
        const auto place = std::find(features.begin(), features.end(), static_cast<std::int64_t>(f));
        HOTROW_CHECK(place != features.end());
        routes.buckets.push_back(
            {splits, Index(b), g > 0, routes.pack_of_rank[rank], Index(place - features.begin())});
      }
    }
    ++splits;
  }
}

}  // namespace

InputRoutes MakeInputRoutes(const ShardingPlan& plan, std::span<const TableShape> model,
                            std::int64_t num_features, IdBytes id_bytes, std::size_t rank) {
  HOTROW_CHECK(Index(plan.world) > rank && plan.tables.size() == model.size());
  InputRoutes routes;
  routes.rank = rank;
  if (!plan.tables.empty()) {
    const TablePlan& largest = *std::ranges::max_element(plan.tables, {}, &TablePlan::rows);
    routes.id_bytes = WireIdBytes(id_bytes, largest.table, largest.rows);
  }
  routes.features = RoutesOfFeatures(plan, model, num_features);
  for (std::int64_t r = 0; r < plan.world; ++r)
    routes.features_of_rank.push_back(FeaturesOfRank(plan, model, r));
  ShareOutPacks(routes);
  PlaceBuckets(routes);
  return routes;
}

}  // namespace hotrow

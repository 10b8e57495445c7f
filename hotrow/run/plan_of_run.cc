#include "hotrow/run/plan_of_run.h"

#include "hotrow/run/run_data.h"
#include "hotrow/sharded/table_shapes.h"

namespace hotrow {

std::vector<TableShape> ShapesOfPlan(const RunConfig& config, const ShardingPlan& plan) {
  std::vector<TableShape> tables(plan.tables.size());
  // Tables of a model of other features than bench's have one id each where nothing was said.
  const bool of_bench = !plan.tables.empty() && plan.tables.front().table == "t_f0";
  const std::vector<std::int32_t> ids = BagSizes(config.data, tables.size(), of_bench);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    tables[t].name = plan.tables[t].table;
    tables[t].rows = plan.tables[t].rows;
    tables[t].dim = plan.tables[t].dim;
    AddStateOf(config.tables.optimizer.kind, tables[t]);
    tables[t].ids_per_sample = ids[t];
    tables[t].features = {static_cast<std::int64_t>(t)};
  }
  return tables;
}

bool NamesTables(const RunSettings& settings) {
  if (settings.config.data.schema) return true;
  for (const char* name : {"cardinality", "max-rows", "embedding-dim", "format", "data"}) {
    if (settings.said.contains(name)) return true;
  }
  return false;
}

}  // namespace hotrow

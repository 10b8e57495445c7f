// hotrow plan make, show, validate: sharding plans as files.

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/data_flags.h"
#include "cli/targets.h"
#include "cli/unread_flags.h"
#include "hotrow/base/error.h"
#include "hotrow/data/criteo_encoder.h"
#include "hotrow/data/open_source.h"
#include "hotrow/data/presets.h"
#include "hotrow/optim/optimizer_config.h"
#include "hotrow/plan/check_plan.h"
#include "hotrow/plan/make_plan.h"
#include "hotrow/plan/plan_file.h"
#include "hotrow/plan/plan_text.h"
#include "hotrow/plan/rank_load.h"
#include "hotrow/plan/units_of_ranks.h"
#include "hotrow/sharded/table_shapes.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PlanFlags {
  CommonFlags common;
  std::string plan;  ///< file to show or validate
  std::string out;   ///< file to write
  std::string sharding = "column_wise";
  std::int64_t ranks = 0;  ///< validate: 0 takes the plan's
  std::int64_t ranks_per_group = 0;
  DataFlags data;         ///< whose tables; without format, schema and a config with [data] bench's
  std::string multi_hot;  ///< empty: mlperf for bench's 26 features, else one
  std::int64_t embedding_dim = 128;
  std::string optimizer = "adagrad";
  std::int64_t per_chip_batch = 4096;
  std::int64_t reduction_units = 0;  ///< 0: not asked about
};

void AddRanks(CLI::App& app, PlanFlags& f, const char* help) {
  app.add_option("--ranks", f.ranks, help)->check(CLI::Range(std::int64_t{1}, kMaxPlanWorld));
}

void AddTables(CLI::App& app, PlanFlags& f) {
  AddDataFlags(app, f.data);
  app.get_option("--data")->description(
      "csv: the training files, whose vocabularies say how large tables are");
  app.get_option("--format")
      ->description(
          "Whose tables: criteo, csv (where there is a schema or [data]), or synthetic: bench's, the "
          "default");
  app.add_option("--embedding-dim", f.embedding_dim, "Columns of every table")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
}

void AddTraffic(CLI::App& app, PlanFlags& f) {
  app.add_option("--multi-hot", f.multi_hot,
                 "Ids a sample of every table: mlperf, one, or a list (mlperf for 26 tables, else one)");
  app.add_option("--optimizer", f.optimizer, "Whose state is counted: adagrad, rowwise_adagrad, sgd or adam")
      ->capture_default_str();
  app.add_option("--per-chip-batch", f.per_chip_batch, "Samples a rank, for the ids a step")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
}

void AddPlanFile(CLI::App& app, PlanFlags& f) {
  app.add_option("--plan,plan", f.plan, "The plan file")->type_name("FILE");
}

// State and ids of tables that are so far only names, rows and dims; table t serves feature t.
void DescribeTables(const PlanFlags& flags, std::vector<TableShape>& tables) {
  const OptimizerKind kind = ParseOptimizerKind(flags.optimizer);
  const auto count = static_cast<std::int64_t>(tables.size());
  constexpr std::int64_t kMlperfFeatures = 26;
  const bool mlperf = count == kMlperfFeatures && tables.front().name == "t_f0";
  const std::string multi_hot = !flags.multi_hot.empty() ? flags.multi_hot : mlperf ? "mlperf" : "one";
  const std::vector<std::int32_t> ids = ParseMultiHot(multi_hot, count);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    AddStateOf(kind, tables[t]);
    tables[t].ids_per_sample = ids[t];
    tables[t].features = {static_cast<std::int64_t>(t)};
  }
}

// Whether --schema, or a --config with [data], describes CSV files.
bool HasSchema(const PlanFlags& flags) {
  if (!flags.data.schema.empty()) return true;
  return !flags.common.config.empty() && ConfigHasData(flags.common.config);
}

// The features that `train` has of --format and its like, or `bench` of the same flags.
std::vector<SparseFeature> Features(const PlanFlags& flags, const GivenFlags& given) {
  DataFlags data = flags.data;
  if (!HasSchema(flags) && data.format.empty()) {
    given.Refuse("a plan for bench's tables",
                 {{"--data", "one for train's, by --format, --schema or a [data] table of --config,"}});
    data.format = "synthetic";
  }
  if (data.format == "criteo") {
    RefuseUnread({.format = DataFormat::kCriteo}, given);
    return CriteoEncoder(ParseRows(data.cardinality, data.max_rows)).description().features;
  }
  const DataSpec spec = MakeDataSpec(data, flags.common);
  RefuseUnread(spec, given);
  if (spec.format == DataFormat::kCsv) return MakeEncoder(spec)->description().features;
  const std::vector<std::string> names = NumberedNames("f", static_cast<std::int64_t>(spec.rows.size()));
  std::vector<SparseFeature> features;
  for (std::size_t f = 0; f < names.size(); ++f) features.push_back({names[f], spec.rows[f], 1});
  return features;
}

// Their tables, as `train` and `bench` name them.
std::vector<TableShape> ModelTables(const PlanFlags& flags, const GivenFlags& given) {
  std::vector<TableShape> tables;
  for (const SparseFeature& feature : Features(flags, given)) {
    TableShape& table = tables.emplace_back();
    table.name = "t_" + feature.name;
    table.rows = feature.rows;
    table.dim = flags.embedding_dim;
  }
  DescribeTables(flags, tables);
  return tables;
}

std::vector<TableShape> TablesOf(const ShardingPlan& plan, const PlanFlags& flags) {
  std::vector<TableShape> tables(plan.tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    tables[t].name = plan.tables[t].table;
    tables[t].rows = plan.tables[t].rows;
    tables[t].dim = plan.tables[t].dim;
  }
  DescribeTables(flags, tables);
  return tables;
}

// Of any plan, valid or not, so without checks on sizes: 0 for a world that is none.
std::int64_t GlobalBatch(const ShardingPlan& plan, const PlanFlags& flags) {
  return plan.world >= 1 && plan.world <= kMaxPlanWorld ? plan.world * flags.per_chip_batch : 0;
}

// What is wrong with the plan; nothing for a valid one.
std::optional<std::string> Mistake(const ShardingPlan& plan, const std::string& source) {
  try {
    Validate(plan, source);
    return std::nullopt;
  } catch (const Error& e) {
    return e.what();
  }
}

Json Report(const char* action, const ShardingPlan& plan, const std::vector<TableShape>& tables,
            const PlanFlags& flags) {
  const std::optional<std::string> mistake = Mistake(plan, flags.plan.empty() ? "plan" : flags.plan);
  const std::int64_t batch = GlobalBatch(plan, flags);
  const auto if_batch = [batch](auto value) { return batch > 0 ? Json(value) : Json(nullptr); };
  Json ranks = Json::array();
  for (const auto& [rank, load] : LoadPerRank(plan, tables, batch)) {
    ranks.push_back({{"rank", rank},
                     {"tables", load.tables},
                     {"shards", load.shards},
                     {"weight_bytes", load.weight_bytes},
                     {"state_bytes", load.state_bytes},
                     {"ids_per_step", if_batch(load.ids)}});
  }
  Json json = {{"command", "plan"},
               {"action", action},
               {"version", HOTROW_VERSION},
               {"world", plan.world},
               {"global_batch", if_batch(batch)},
               {"valid", !mistake.has_value()},
               {"promises_bits", PromisesBits(plan)},
               {"ranks", ranks},
               {"plan", Json::parse(PlanToJson(plan))}};
  if (mistake.has_value()) json["mistake"] = *mistake;
  return json;
}

GivenFlags Begin(CLI::App& app, const PlanFlags& flags, bool needs_plan) {
  GivenFlags given(app);
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  CheckTargets({{"--out", flags.out}, JsonTarget(flags.common)},
               {{"--plan", flags.plan}, {"--config", flags.common.config}});
  if (needs_plan && flags.plan.empty()) Fail("--plan: which plan file? It is missing");
  return given;
}

int Make(CLI::App& app, PlanFlags& flags) {
  const GivenFlags given = Begin(app, flags, false);
  const std::vector<TableShape> tables = ModelTables(flags, given);
  const PlanKind kind = ParsePlanKind(flags.sharding);
  if (flags.ranks_per_group != 0 && kind != PlanKind::kGrid) {
    Fail("--ranks-per-group {}: only --sharding grid has groups", flags.ranks_per_group);
  }
  const ShardingPlan plan =
      MakePlan(kind, tables, std::max<std::int64_t>(flags.ranks, 1), {.group_size = flags.ranks_per_group});
  if (!flags.out.empty()) SavePlan(plan, flags.out);
  PrintResult(flags.common, PlanToText(plan, tables, GlobalBatch(plan, flags)));
  WriteJson(flags.common, Report("make", plan, tables, flags));
  return kDone;
}

int Show(CLI::App& app, PlanFlags& flags) {
  Begin(app, flags, true);
  const ShardingPlan plan = LoadPlan(flags.plan);
  const std::vector<TableShape> tables = TablesOf(plan, flags);
  PrintResult(flags.common, PlanToText(plan, tables, GlobalBatch(plan, flags)));
  WriteJson(flags.common, Report("show", plan, tables, flags));
  return kDone;
}

// One rank cuts a batch into a power of two of units: other worlds have its bits when they have its units.
bool BitsOfOneRank(const ShardingPlan& plan, std::int64_t units) {
  return PromisesBits(plan) && std::has_single_bit(static_cast<std::uint64_t>(units));
}

std::string BitsText(const ShardingPlan& plan, std::int64_t units) {
  if (!PromisesBits(plan)) return "row_wise or grid tables: equal to one rank to rounding, not to the bit";
  if (!BitsOfOneRank(plan, units)) {
    return fmt::format(
        "the same bits in every world that can share its {} reduction units, as one rank cannot", units);
  }
  if (units == DefaultReductionUnits(1)) return "the same bits as on one rank";
  return fmt::format("the same bits as on one rank with --reduction-units {}", units);
}

int ValidateFile(CLI::App& app, PlanFlags& flags) {
  const GivenFlags given = Begin(app, flags, true);
  const ShardingPlan plan = LoadPlan(flags.plan);
  Validate(plan, flags.plan);
  const std::int64_t world = flags.ranks == 0 ? plan.world : flags.ranks;
  const bool names_model = app.count("--cardinality") + app.count("--max-rows") +
                                   app.count("--embedding-dim") + app.count("--format") +
                                   app.count("--data") >
                               0 ||
                           HasSchema(flags);
  PlanForModel(plan, names_model ? ModelTables(flags, given) : TablesOf(plan, flags), world, flags.plan);
  if (flags.reduction_units != 0) ValidateReductionUnits(flags.reduction_units, world);
  const std::int64_t units =
      flags.reduction_units != 0 ? flags.reduction_units : DefaultReductionUnits(world);
  PrintResult(flags.common,
              fmt::format("{}: valid: {} tables over {} ranks{}; {}", flags.plan, plan.tables.size(), world,
                          names_model ? ", for this model" : "", BitsText(plan, units)));
  WriteJson(flags.common, {{"command", "plan"},
                           {"action", "validate"},
                           {"version", HOTROW_VERSION},
                           {"world", world},
                           {"tables", plan.tables.size()},
                           {"valid", true},
                           {"promises_bits", PromisesBits(plan)},
                           {"reduction_units", units},
                           {"bits_of_one_rank", BitsOfOneRank(plan, units)}});
  return kDone;
}

}  // namespace

Command AddPlanCommand(CLI::App& root) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* app = root.add_subcommand("plan", "Makes, shows and validates sharding plans");
  app->require_subcommand(1);

  CLI::App* make = app->add_subcommand(
      "make",
      "Makes a plan for the tables that bench trains with the same flags, or train with the same "
      "--format, --schema or --config");
  AddRanks(*make, *flags, "Ranks to plan for (1)");
  make->add_option("--sharding", flags->sharding,
                   "column_wise, table_wise, row_wise, grid, data_parallel, or auto (a simple balance)")
      ->capture_default_str();
  make->add_option(
      "--ranks-per-group", flags->ranks_per_group,
      "grid: ranks a table's rows are spread over, as many as a host has (about the square root)");
  make->add_option("--out", flags->out, "Write the plan to FILE")->type_name("FILE");
  AddTables(*make, *flags);
  AddTraffic(*make, *flags);
  AddCommonFlags(*make, flags->common);

  CLI::App* show = app->add_subcommand("show", "Prints a plan, and what is wrong with it if it is not valid");
  AddPlanFile(*show, *flags);
  AddTraffic(*show, *flags);
  AddCommonFlags(*show, flags->common);

  CLI::App* validate =
      app->add_subcommand("validate", "Checks a plan, and that it fits ranks, tables and units if given");
  AddPlanFile(*validate, *flags);
  AddRanks(*validate, *flags, "Ranks it must be for (the plan's)");
  AddTables(*validate, *flags);
  validate
      ->add_option("--reduction-units", flags->reduction_units,
                   "Units that its ranks must share (8, or as many more as they need)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  AddCommonFlags(*validate, flags->common);

  return {app, [=] {
            if (app->got_subcommand(make)) return Make(*make, *flags);
            if (app->got_subcommand(show)) return Show(*show, *flags);
            return ValidateFile(*validate, *flags);
          }};
}

}  // namespace hotrow::cli

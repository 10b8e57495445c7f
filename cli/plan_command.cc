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
#include "cli/settings_flags.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/plan/check_plan.h"
#include "hotrow/plan/plan_file.h"
#include "hotrow/plan/plan_text.h"
#include "hotrow/plan/rank_load.h"
#include "hotrow/plan/units_of_ranks.h"
#include "hotrow/run/plan_of_run.h"
#include "hotrow/run/resolve.h"
#include "hotrow/run/run_data.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

// Of any plan, valid or not, so without checks on sizes: 0 for a world that is none.
std::int64_t GlobalBatch(const ShardingPlan& plan, const RunConfig& run) {
  return plan.world >= 1 && plan.world <= kMaxPlanWorld ? plan.world * run.bench.per_chip_batch : 0;
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
            const RunConfig& run) {
  const std::optional<std::string> mistake = Mistake(plan, run.files.plan.empty() ? "plan" : run.files.plan);
  const std::int64_t batch = GlobalBatch(plan, run);
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

RunSettings Begin(const CLI::App& app, RunCommand command) {
  RunSettings settings = ReadCommandLine(app, command);
  CheckOutputs(settings);
  if (command != kPlanMake && settings.config.files.plan.empty())
    Fail("--plan: which plan file? It is missing");
  return settings;
}

int Make(const CLI::App& app) {
  const RunConfig run = Begin(app, kPlanMake).config;
  const std::vector<TableShape> tables = ResolveShapes(run, DescribeData(kPlanMake, run));
  const ShardingPlan plan = ResolvePlan(run.placement, tables, run.placement.ranks);
  if (!run.files.out.empty()) SavePlan(plan, run.files.out);
  PrintResult(run.common, PlanToText(plan, tables, GlobalBatch(plan, run)));
  WriteJson(run.common, Report("make", plan, tables, run));
  return kDone;
}

int Show(const CLI::App& app) {
  const RunConfig run = Begin(app, kPlanShow).config;
  const ShardingPlan plan = LoadPlan(run.files.plan);
  const std::vector<TableShape> tables = ShapesOfPlan(run, plan);
  PrintResult(run.common, PlanToText(plan, tables, GlobalBatch(plan, run)));
  WriteJson(run.common, Report("show", plan, tables, run));
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

int ValidateFile(const CLI::App& app) {
  const RunSettings settings = Begin(app, kPlanValidate);
  const RunConfig& run = settings.config;
  const ShardingPlan plan = LoadPlan(run.files.plan);
  Validate(plan, run.files.plan);
  const std::int64_t world = run.placement.ranks == 0 ? plan.world : run.placement.ranks;
  const bool names_model = NamesTables(settings);
  PlanForModel(plan,
               names_model ? ResolveShapes(run, DescribeData(kPlanValidate, run)) : ShapesOfPlan(run, plan),
               world, run.files.plan);
  const std::int64_t units = UnitsOf(run.placement, world);
  PrintResult(run.common,
              fmt::format("{}: valid: {} tables over {} ranks{}; {}", run.files.plan, plan.tables.size(),
                          world, names_model ? ", for this model" : "", BitsText(plan, units)));
  WriteJson(run.common, {{"command", "plan"},
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
  CLI::App* app = root.add_subcommand("plan", "Makes, shows and validates sharding plans");
  app->require_subcommand(1);
  CLI::App* make = app->add_subcommand(
      "make",
      "Makes a plan for the tables that bench trains with the same flags, or train with the same "
      "--format, --schema or --config");
  AddSettings(*make, kPlanMake);
  CLI::App* show = app->add_subcommand("show", "Prints a plan, and what is wrong with it if it is not valid");
  AddSettings(*show, kPlanShow);
  CLI::App* validate =
      app->add_subcommand("validate", "Checks a plan, and that it fits ranks, tables and units if given");
  AddSettings(*validate, kPlanValidate);
  return {app, [=] {
            if (app->got_subcommand(make)) return Make(*make);
            if (app->got_subcommand(show)) return Show(*show);
            return ValidateFile(*validate);
          }};
}

}  // namespace hotrow::cli

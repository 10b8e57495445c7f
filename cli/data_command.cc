// hotrow data: makes and describes data sets.

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/data_flags.h"
#include "cli/targets.h"
#include "cli/unread_flags.h"
#include "hotrow/base/error.h"
#include "hotrow/data/data_info.h"
#include "hotrow/data/planted.h"
#include "hotrow/data/presets.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

struct GenerateFlags {
  CommonFlags common;
  std::string out;
  std::string test_out;
  std::int64_t samples = 300'000;
  std::int64_t test_samples = 50'000;
  std::string format = "criteo";
  std::string rows;
};

struct InfoFlags {
  CommonFlags common;
  DataFlags data;
};

void AddGenerateFlags(CLI::App& app, GenerateFlags& f) {
  AddCommonFlags(app, f.common);
  app.add_option("--out", f.out, "File to write")->type_name("FILE");
  app.add_option("--samples", f.samples, "Samples in it")->capture_default_str();
  app.add_option("--test-out", f.test_out, "A second file with samples of its own, to test on")
      ->type_name("FILE");
  app.add_option("--test-samples", f.test_samples, "Samples in that")->capture_default_str();
  app.add_option("--format", f.format, "criteo: tab-separated, no header; csv: with one")
      ->capture_default_str();
  app.add_option("--rows", f.rows,
                 "Ids of the 26 features: a list or a preset's name (default: mlperf's, at most 200 each). A "
                 "reader's tables need at least as many rows");
}

Json ReportJson(const std::string& path, const PlantedReport& report) {
  return {{"path", path},
          {"samples", report.samples},
          {"label_rate", report.label_rate},
          {"best_auc", report.best_auc},
          {"expected_best_auc", report.expected_best_auc},
          {"best_log_loss", report.best_log_loss}};
}

std::string ReportText(const std::string& path, const PlantedReport& report) {
  const std::string auc =
      std::isnan(report.best_auc) ? "n/a: only one class is present" : fmt::format("{:.5f}", report.best_auc);
  return fmt::format(
      "{}: {} samples, {:.1f}% clicks; the best possible AUC is {} ({:.5f} expected), log loss {:.5f}", path,
      report.samples, 100.0 * report.label_rate, auc, report.expected_best_auc, report.best_log_loss);
}

int RunGenerate(GenerateFlags& flags, CLI::App& app) {
  const GivenFlags given(app);
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  CheckTargets({{"--out", flags.out}, {"--test-out", flags.test_out}, JsonTarget(flags.common)},
               {{"--config", flags.common.config}});
  if (flags.out.empty()) Fail("--out: missing; it names the file to write");
  if (flags.samples < 1) Fail("--samples {}: at least 1 is needed", flags.samples);
  if (flags.test_samples < 1) Fail("--test-samples {}: at least 1 is needed", flags.test_samples);
  if (flags.test_out.empty()) given.Refuse("a run without --test-out", {{"--test-samples", "one with it"}});
  const PlantedLayout layout = ParsePlantedLayout(flags.format);
  PlantedConfig config{.seed = flags.common.seed, .rows = {}};
  if (!flags.rows.empty()) config.rows = ParseRows(flags.rows);
  const PlantedModel model(config);
  InstallInterruptHandler();
  const PlantedReport report = WritePlanted(model, 0, flags.samples, layout, flags.out, &g_interrupted);
  std::string text = ReportText(flags.out, report);
  Json json = {{"command", "data generate"},
               {"version", HOTROW_VERSION},
               {"seed", flags.common.seed},
               {"format", flags.format},
               {"train", ReportJson(flags.out, report)}};
  if (!flags.test_out.empty()) {
    const PlantedReport test =
        WritePlanted(model, flags.samples, flags.test_samples, layout, flags.test_out, &g_interrupted);
    text += "\n" + ReportText(flags.test_out, test);
    json["test"] = ReportJson(flags.test_out, test);
  }
  PrintResult(flags.common, text);
  WriteJson(flags.common, json);
  return kDone;
}

Json InfoJson(const DataInfo& info, const std::vector<std::string>& dense_names,
              const std::vector<std::string>& paths) {
  Json dense = Json::array();
  for (std::size_t i = 0; i < info.dense.size(); ++i) {
    const DenseInfo& column = info.dense[i];
    dense.push_back(
        {{"name", dense_names[i]}, {"min", column.min}, {"mean", column.mean}, {"max", column.max}});
  }
  Json features = Json::array();
  for (const FeatureInfo& feature : info.features) {
    features.push_back({{"name", feature.name},
                        {"rows", feature.rows},
                        {"distinct_ids", feature.distinct_ids},
                        {"ids", feature.ids},
                        {"out_of_range", feature.out_of_range},
                        {"min_bag", feature.min_bag},
                        {"mean_bag", static_cast<double>(feature.ids) / static_cast<double>(info.samples)},
                        {"max_bag", feature.max_bag}});
  }
  return {{"command", "data info"},
          {"version", HOTROW_VERSION},
          {"paths", paths},
          {"samples", info.samples},
          {"label_rate", info.label_rate ? Json(*info.label_rate) : Json(nullptr)},
          {"dense", dense},
          {"features", features}};
}

std::string InfoText(const DataInfo& info, const std::vector<std::string>& dense_names) {
  std::string text = fmt::format("{} samples, ", info.samples);
  text += info.label_rate ? fmt::format("{:.2f}% labelled 1", 100.0 * *info.label_rate) : "no labels";
  if (!info.dense.empty())
    text +=
        fmt::format("\n{:<28} {:>12} {:>12} {:>12}", "number as the model reads it", "min", "mean", "max");
  for (std::size_t i = 0; i < info.dense.size(); ++i) {
    const DenseInfo& d = info.dense[i];
    text += fmt::format("\n{:<28} {:>12.5g} {:>12.5g} {:>12.5g}", dense_names[i], d.min, d.mean, d.max);
  }
  text += fmt::format("\n{:<28} {:>12} {:>12} {:>12} {:>12}", "feature", "rows", "distinct ids", "mean bag",
                      "max bag");
  for (const FeatureInfo& f : info.features) {
    text += fmt::format("\n{:<28} {:>12} {:>12} {:>12.3f} {:>12}", f.name, f.rows, f.distinct_ids,
                        static_cast<double>(f.ids) / static_cast<double>(info.samples), f.max_bag);
    if (f.out_of_range > 0) text += fmt::format("  {} ids outside the table", f.out_of_range);
  }
  return text;
}

int RunInfo(InfoFlags& flags, CLI::App& app) {
  const GivenFlags given(app);
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  std::vector<NamedFile> inputs = Named("--data", flags.data.data);
  inputs.push_back({"--schema", flags.data.schema});
  inputs.push_back({"--config", flags.common.config});
  CheckTargets({JsonTarget(flags.common)}, inputs);
  DataSpec spec = MakeDataSpec(flags.data, flags.common);
  if (spec.format == DataFormat::kSynthetic)
    Fail("--format synthetic: has nothing to read; valid are criteo and csv");
  RefuseUnread(spec, given);
  spec.need_labels = false;
  const std::shared_ptr<const RecordEncoder> encoder = MakeEncoder(spec);
  const DataInfo info = InspectData(*OpenSource(spec, encoder));
  const std::vector<std::string> dense_names = encoder->DenseNames();
  PrintResult(flags.common, InfoText(info, dense_names));
  WriteJson(flags.common, InfoJson(info, dense_names, spec.paths));
  return kDone;
}

}  // namespace

Command AddDataCommand(CLI::App& root) {
  CLI::App* data =
      root.add_subcommand("data", "Make data sets with a known best AUC, and say what a data set holds");
  data->require_subcommand(1);
  const auto generate_flags = std::make_shared<GenerateFlags>();
  CLI::App* generate = data->add_subcommand("generate", "Write a click log with a planted signal");
  AddGenerateFlags(*generate, *generate_flags);
  const auto info_flags = std::make_shared<InfoFlags>();
  CLI::App* info = data->add_subcommand("info", "Count samples, clicks, values and ids of data files");
  AddCommonFlags(*info, info_flags->common);
  AddDataFlags(*info, info_flags->data);
  info->get_option("--format")->description("criteo or csv (csv where there is a schema, else criteo)");
  info->get_option("--cardinality")
      ->description("criteo: rows of the tables: tiny, shrunk, canonical, mlperf, or a list");
  info->get_option("--max-rows")->description("criteo: cap of every table's rows; 0: none");
  return {data, [=] {
            return generate->parsed() ? RunGenerate(*generate_flags, *generate) : RunInfo(*info_flags, *info);
          }};
}

}  // namespace hotrow::cli

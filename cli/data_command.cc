// hotrow data: makes and describes data sets.

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/evaluation_report.h"
#include "cli/settings_flags.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/data/data_info.h"
#include "hotrow/data/file_source.h"
#include "hotrow/data/planted.h"
#include "hotrow/data/presets.h"
#include "hotrow/run/run_data.h"
#include "hotrow/run/words.h"
#include "hotrow/train/model_file.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

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

int RunGenerate(const CLI::App& app) {
  const RunSettings settings = ReadCommandLine(app, kDataGenerate);
  const RunConfig& run = settings.config;
  const GenerateConfig& generate = run.generate;
  const std::string& out = run.files.out;
  CheckOutputs(settings);
  if (out.empty()) Fail("--out: missing; it names the file to write");
  PlantedConfig config{.seed = run.common.seed, .rows = {}};
  if (!generate.rows.empty()) config.rows = ParseRows(generate.rows);
  const PlantedModel model(config);
  InstallInterruptHandler();
  const PlantedReport report = WritePlanted(model, 0, generate.samples, generate.layout, out, &g_interrupted);
  std::string text = ReportText(out, report);
  Json json = {{"command", "data generate"},
               {"version", HOTROW_VERSION},
               {"seed", run.common.seed},
               {"format", WordOf(kPlantedLayouts, generate.layout)},
               {"train", ReportJson(out, report)}};
  if (!generate.test_out.empty()) {
    const PlantedReport test = WritePlanted(model, generate.samples, generate.test_samples, generate.layout,
                                            generate.test_out, &g_interrupted);
    text += "\n" + ReportText(generate.test_out, test);
    json["test"] = ReportJson(generate.test_out, test);
  }
  PrintResult(run.common, text);
  WriteJson(run.common, json);
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
          {"features", features},
          {"unknown_values", UnknownJson(info.unknown)}};
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
    for (const UnknownValues& unknown : info.unknown) {
      if (unknown.feature != f.name || unknown.unknown == 0) continue;
      text += fmt::format("  {:.2f}% of the values are not in the vocabulary", 100.0 * unknown.share());
    }
  }
  return text;
}

// A saved model knows how its data are read.
void RefuseWithModel(const RunSettings& settings) {
  for (const char* name : {"format", "schema", "cardinality", "max-rows"}) {
    if (settings.given.contains(name))
      Fail("--{}: --model does not read it; a run without --model does", name);
  }
  if (settings.config.data.files.empty()) Fail("--data: missing");
}

int RunInfo(const CLI::App& app) {
  const RunSettings settings = ReadCommandLine(app, kDataInfo);
  const RunConfig& run = settings.config;
  CheckOutputs(settings);
  // As training would see the files, or, with a saved model, as its training left them to be seen. Bad ids
  // are counted.
  const std::string& model = run.files.model;
  if (!model.empty()) RefuseWithModel(settings);
  const std::shared_ptr<const RecordEncoder> encoder =
      model.empty() ? MakeEncoder(ResolveData(kDataInfo, run)) : EncoderOf(ReadModelInfo(model), model);
  const DataInfo info =
      InspectData(*OpenFileSource(encoder, {.paths = run.data.files, .need_labels = false, .pipes = true}));
  const std::vector<std::string> dense_names = encoder->DenseNames();
  PrintResult(run.common, InfoText(info, dense_names));
  PrintUnknown(run.common, info.unknown);
  WriteJson(run.common, InfoJson(info, dense_names, run.data.files));
  return kDone;
}

}  // namespace

Command AddDataCommand(CLI::App& root) {
  CLI::App* data =
      root.add_subcommand("data", "Make data sets with a known best AUC, and say what a data set holds");
  data->require_subcommand(1);
  CLI::App* generate = data->add_subcommand("generate", "Write a click log with a planted signal");
  AddSettings(*generate, kDataGenerate);
  CLI::App* info = data->add_subcommand("info", "Count samples, clicks, values and ids of data files");
  AddSettings(*info, kDataInfo);
  return {data, [=] { return generate->parsed() ? RunGenerate(*generate) : RunInfo(*info); }};
}

}  // namespace hotrow::cli

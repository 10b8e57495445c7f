// hotrow eval: how good a saved model is on a data set.

#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/evaluation_report.h"
#include "cli/settings_flags.h"
#include "cli/targets.h"
#include "hotrow/machine/system.h"
#include "hotrow/run/saved_model.h"
#include "hotrow/run/world.h"

namespace hotrow::cli {
namespace {

int RunEval(const CLI::App& app) {
  const RunSettings settings = ReadCommandLine(app, kEval);
  const RunConfig& run = settings.config;
  CheckOutputs(settings);
  ThreadPool pool(ThreadsOfProcess(run.common));
  const SavedModel saved = OpenSavedModel(run, true, pool);
  const Evaluation evaluation = Evaluate(*saved.trainer, *saved.source, run.loop.batch_size);
  nlohmann::ordered_json json = {
      {"command", "eval"}, {"version", HOTROW_VERSION}, {"model", run.files.model}};
  json.update(EvaluationJson(evaluation));
  json["bad_ids"] = saved.trainer->bad_ids();
  json["unknown_values"] = UnknownJson(saved.source->Unknown());
  json["peak_rss_bytes"] = PeakResidentBytes();
  PrintResult(run.common, EvaluationText(evaluation));
  PrintUnknown(run.common, saved.source->Unknown());
  WriteJson(run.common, json);
  return kDone;
}

}  // namespace

Command AddEvalCommand(CLI::App& root) {
  CLI::App* app = root.add_subcommand("eval", "AUC, log loss and normalized entropy of a saved model");
  AddSettings(*app, kEval);
  return {app, [app] { return RunEval(*app); }};
}

}  // namespace hotrow::cli

// hotrow eval: how good a saved model is on a data set.

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/evaluation_report.h"
#include "cli/saved_model.h"
#include "cli/targets.h"
#include "hotrow/machine/system.h"

namespace hotrow::cli {
namespace {

int Run(SavedModelFlags& flags, CLI::App& app) {
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  std::vector<NamedFile> inputs = Named("--data", flags.data.data);
  inputs.push_back({"--model", flags.model});
  inputs.push_back({"--config", flags.common.config});
  CheckTargets({JsonTarget(flags.common)}, inputs);
  ThreadPool pool(flags.common.ThreadCount());
  const SavedModel saved = OpenSavedModel(flags, true, pool);
  const Evaluation evaluation = Evaluate(*saved.trainer, *saved.source, flags.batch_size);
  nlohmann::ordered_json json = {{"command", "eval"}, {"version", HOTROW_VERSION}, {"model", flags.model}};
  json.update(EvaluationJson(evaluation));
  json["bad_ids"] = saved.trainer->bad_ids();
  json["peak_rss_bytes"] = PeakResidentBytes();
  PrintResult(flags.common, EvaluationText(evaluation));
  WriteJson(flags.common, json);
  return kDone;
}

}  // namespace

Command AddEvalCommand(CLI::App& root) {
  auto flags = std::make_shared<SavedModelFlags>();
  CLI::App* app = root.add_subcommand("eval", "AUC, log loss and normalized entropy of a saved model");
  AddSavedModelFlags(*app, *flags);
  return {app, [flags, app] { return Run(*flags, *app); }};
}

}  // namespace hotrow::cli

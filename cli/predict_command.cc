// hotrow predict: a probability a line.

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/evaluation_report.h"
#include "cli/settings_flags.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/base/interrupted.h"
#include "hotrow/files/text_writer.h"
#include "hotrow/run/saved_model.h"
#include "hotrow/run/world.h"

namespace hotrow::cli {
namespace {

// Probabilities to a file that is there whole or not at all, or to stdout.
class Lines {
 public:
  explicit Lines(const std::string& path) {
    if (path != "-") file_.emplace(path);
  }
  void Print(double value) {
    if (file_) {
      file_->Print("{:.9g}\n", value);
    } else {
      cli::Print(fmt::format("{:.9g}\n", value));
    }
  }
  void Finish() {
    if (file_) {
      file_->Finish();
    } else {
      Flush();
    }
  }

 private:
  std::optional<TextWriter> file_;
};

// What the model sees of one sample, as examples/torch/load_dlrm_dcn.py reads it.
std::string InputLine(const Batch& batch, std::int64_t sample) {
  const std::int64_t num_dense = std::ssize(batch.dense) / batch.size;
  nlohmann::ordered_json json;
  json["dense"] = std::vector<float>(batch.dense.begin() + sample * num_dense,
                                     batch.dense.begin() + (sample + 1) * num_dense);
  json["ids"] = nlohmann::ordered_json::array();
  for (std::int64_t f = 0; f < batch.sparse.num_features(); ++f) {
    const FeatureBags bags = batch.sparse.feature(f);
    const auto ids = bags.ids.subspan(static_cast<std::size_t>(bags.begin(sample)),
                                      static_cast<std::size_t>(bags.end(sample) - bags.begin(sample)));
    json["ids"].push_back(std::vector<std::int64_t>(ids.begin(), ids.end()));
    if (!bags.weights.empty()) {
      const auto weights = bags.weights.subspan(static_cast<std::size_t>(bags.begin(sample)), ids.size());
      json["weights"].push_back(std::vector<float>(weights.begin(), weights.end()));
    }
  }
  return json.dump();
}

int RunPredict(const CLI::App& app) {
  const RunSettings settings = ReadCommandLine(app, kPredict);
  const RunConfig& run = settings.config;
  CheckOutputs(settings);
  if (run.common.json == "-" && run.files.out == "-") {
    Fail("--json -: stdout has the predictions already; name a file there or in --out");
  }
  ThreadPool pool(ThreadsOfProcess(run.common));
  const SavedModel saved = OpenSavedModel(run, false, pool);
  InstallInterruptHandler();
  Lines out(run.files.out);
  std::optional<TextWriter> inputs;
  if (!run.files.dump_inputs.empty()) inputs.emplace(run.files.dump_inputs);
  Batch batch;
  std::vector<float> logits;
  std::int64_t samples = 0;
  saved.source->StartEpoch(0);
  while (saved.source->Next(run.loop.batch_size, batch)) {
    logits.resize(static_cast<std::size_t>(batch.size));
    saved.trainer->Predict(batch, logits);
    samples += batch.size;
    ThrowIfInterrupted(&g_interrupted);
    for (std::int64_t s = 0; s < batch.size; ++s) {
      const auto logit = static_cast<double>(logits[static_cast<std::size_t>(s)]);
      if (!std::isfinite(logit)) {
        Fail("the logit of sample {} is {}: the model has diverged", batch.first_sample + s, logit);
      }
      out.Print(run.files.logits ? logit : 1.0 / (1.0 + std::exp(-logit)));
      if (inputs) inputs->Print("{}\n", InputLine(batch, s));
    }
  }
  out.Finish();
  if (inputs) inputs->Finish();
  const std::vector<UnknownValues> unknown = saved.source->Unknown();
  PrintUnknown(run.common, unknown);
  WriteJson(run.common, {{"command", "predict"},
                         {"version", HOTROW_VERSION},
                         {"model", run.files.model},
                         {"samples", samples},
                         {"bad_ids", saved.trainer->bad_ids()},
                         {"unknown_values", UnknownJson(unknown)}});
  return kDone;
}

}  // namespace

Command AddPredictCommand(CLI::App& root) {
  CLI::App* app = root.add_subcommand("predict", "Predict a probability a line");
  AddSettings(*app, kPredict);
  return {app, [app] { return RunPredict(*app); }};
}

}  // namespace hotrow::cli

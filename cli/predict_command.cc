// hotrow predict: a probability a line.

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/saved_model.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/base/interrupted.h"
#include "hotrow/files/text_writer.h"

namespace hotrow::cli {
namespace {

struct PredictFlags {
  SavedModelFlags saved;
  std::string out = "-";
  std::string dump_inputs;
  bool logits = false;
};

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

int Run(PredictFlags& flags, CLI::App& app) {
  if (!flags.saved.common.config.empty()) ApplyConfigFile(app, flags.saved.common.config);
  std::vector<NamedFile> inputs_read = Named("--data", flags.saved.data.data);
  inputs_read.push_back({"--model", flags.saved.model});
  inputs_read.push_back({"--config", flags.saved.common.config});
  CheckTargets(
      {{"--out", flags.out, true}, {"--dump-inputs", flags.dump_inputs}, JsonTarget(flags.saved.common)},
      inputs_read);
  if (flags.saved.common.json == "-" && flags.out == "-") {
    Fail("--json -: stdout has the predictions already; name a file there or in --out");
  }
  ThreadPool pool(flags.saved.common.ThreadCount());
  const SavedModel saved = OpenSavedModel(flags.saved, false, pool);
  InstallInterruptHandler();
  Lines out(flags.out);
  std::optional<TextWriter> inputs;
  if (!flags.dump_inputs.empty()) inputs.emplace(flags.dump_inputs);
  Batch batch;
  std::vector<float> logits;
  std::int64_t samples = 0;
  saved.source->StartEpoch(0);
  while (saved.source->Next(flags.saved.batch_size, batch)) {
    logits.resize(static_cast<std::size_t>(batch.size));
    saved.trainer->Predict(batch, logits);
    samples += batch.size;
    ThrowIfInterrupted(&g_interrupted);
    for (std::int64_t s = 0; s < batch.size; ++s) {
      const auto logit = static_cast<double>(logits[static_cast<std::size_t>(s)]);
      if (!std::isfinite(logit)) {
        Fail("the logit of sample {} is {}: the model has diverged", batch.first_sample + s, logit);
      }
      out.Print(flags.logits ? logit : 1.0 / (1.0 + std::exp(-logit)));
      if (inputs) inputs->Print("{}\n", InputLine(batch, s));
    }
  }
  out.Finish();
  if (inputs) inputs->Finish();
  WriteJson(flags.saved.common, {{"command", "predict"},
                                 {"version", HOTROW_VERSION},
                                 {"model", flags.saved.model},
                                 {"samples", samples},
                                 {"bad_ids", saved.trainer->bad_ids()}});
  return kDone;
}

}  // namespace

Command AddPredictCommand(CLI::App& root) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* app = root.add_subcommand("predict", "Predict a probability a line");
  AddSavedModelFlags(*app, flags->saved);
  app->add_option("--out", flags->out, "Where the probabilities go; - is stdout")
      ->type_name("FILE")
      ->capture_default_str();
  app->add_flag("--logits", flags->logits, "Logits instead of probabilities");
  app->add_option("--dump-inputs", flags->dump_inputs, "Also write what the model sees, a JSON object a line")
      ->type_name("FILE");
  return {app, [flags, app] { return Run(*flags, *app); }};
}

}  // namespace hotrow::cli

#include "hotrow/run/settings.h"

#include <algorithm>

#include "hotrow/run/settings_parts.h"
#include "hotrow/run/words.h"

namespace hotrow {
namespace {

const Setting kCommonSettings[] = {
    // Of every command.
    {.name = "threads",
     .commands = kRuns,
     .help = "Compute threads; 0: the cores, or what the cgroup's CPU quota has of them",
     .at = &At<&RunConfig::common, &CommonConfig::threads>,
     .least = 0,
     .most = 1024,
     .own = true},
    {.name = "seed",
     .commands = kRuns,
     .help = "Seed of initial values, data order and synthetic data",
     .at = &At<&RunConfig::common, &CommonConfig::seed>},
    {.name = "json",
     .commands = kAll,
     .help = "Write the result as JSON to FILE; - is stdout",
     .at = File{.at = &At<&RunConfig::common, &CommonConfig::json>, .writes = true, .or_stdout = true},
     .own = true},
    {.name = "quiet",
     .commands = kAll,
     .help = "No progress, no text result",
     .at = &At<&RunConfig::common, &CommonConfig::quiet>,
     .own = true},
    {.name = "config",
     .commands = kRuns,
     .help = "TOML file with values for flags; a flag wins",
     .at = File{.at = &At<&RunConfig::common, &CommonConfig::config>},
     .own = true},

};

// Saved models and plans.
const Setting kSavedSettings[] = {
    {.name = "model",
     .commands = kOfSaved | kDataInfo,
     .help = "Model that `train --save` wrote",
     .at = File{.at = &At<&RunConfig::files, &FilesConfig::model>}},
    {.name = "plan",
     .commands = kPlanShow | kPlanValidate,
     .help = "The plan file",
     .at = File{.at = &At<&RunConfig::files, &FilesConfig::plan>},
     .positional = true},
};

const Setting kLoopSettings[] = {
    // The loop of a training.
    {.name = "epochs",
     .commands = kTrain,
     .help = "Passes over the data",
     .at = &At<&RunConfig::loop, &LoopConfig::epochs>},
    {.name = "batch-size",
     .commands = kTrain,
     .help = "Samples a step, the global batch",
     .at = &At<&RunConfig::loop, &LoopConfig::batch_size>,
     .least = 1,
     .most = kMany},
    {.name = "batch-size",
     .commands = kOfSaved,
     .help = "Samples at a time",
     .at = &At<&RunConfig::loop, &LoopConfig::batch_size>,
     .least = 1,
     .most = kMany},
    {.name = "eval-every",
     .commands = kTrain,
     .help = "Epochs between evaluations, fractions count; 0: at the end",
     .at = &At<&RunConfig::loop, &LoopConfig::eval_every>,
     .read_by = {.with = "eval-data"}},
    {.name = "auc-target",
     .commands = kTrain,
     .help = "Stop when an evaluation reaches it; 0: never",
     .at = &At<&RunConfig::loop, &LoopConfig::auc_target>},
    {.name = "max-steps",
     .commands = kTrain,
     .help = "Stop after so many steps; 0: no bound",
     .at = &At<&RunConfig::loop, &LoopConfig::max_steps>},
    {.name = "save",
     .commands = kTrain,
     .help = "Write the model as safetensors under TorchRec's names; also when training is interrupted",
     .at = File{.at = &At<&RunConfig::files, &FilesConfig::save>, .writes = true}},

    // What bench measures.
    {.name = "part",
     .commands = kBench,
     .help = "step, sparse (embedding only), recat (one rank's, of the ids that --ranks sources sent), "
             "alltoall (the exchanges of ids and of pooled rows) or gemm (the tower's products)",
     .at = ChoiceAt<kBenchParts, &RunConfig::bench, &BenchSettings::part>()},
    {.name = "per-chip-batch",
     .commands = kBench | kPlanMake | kPlanShow,
     .help = "Samples a rank",
     .at = &At<&RunConfig::bench, &BenchSettings::per_chip_batch>,
     .least = 1,
     .most = kMany},
    {.name = "steps",
     .commands = kBench,
     .help = "Timed steps; gemm: a fifth of them, 3 at least",
     .at = &At<&RunConfig::bench, &BenchSettings::steps>,
     .least = 1,
     .most = kMany},
    {.name = "warmup",
     .commands = kBench,
     .help = "Steps before the timed ones; gemm: a fifth of them, 1 at least",
     .at = &At<&RunConfig::bench, &BenchSettings::warmup>,
     .least = 0,
     .most = kMany},
    {.name = "ranks-per-chip",
     .commands = kBench,
     .help = "For the per-chip figure",
     .at = &At<&RunConfig::bench, &BenchSettings::ranks_per_chip>,
     .least = 1,
     .most = 1024,
     .read_by = {.parts = kStepPart}},
    {.name = "check",
     .commands = kBench,
     .help = "First compare with a naive double-precision reference on the same ids",
     .at = &At<&RunConfig::bench, &BenchSettings::check>,
     .read_by = {.parts = kIdsPart}},
    {.name = "limits",
     .commands = kBench,
     .help = "on: measure what the machine allows beside step and sparse, in about as much time again; off",
     .at = ChoiceAt<kOnOff, &RunConfig::bench, &BenchSettings::limits>(),
     .read_by = {.parts = kTablesPart}},
    {.name = "hash",
     .commands = kBench,
     .help = "weights_hash even above 8 GiB of tables",
     .at = &At<&RunConfig::bench, &BenchSettings::hash>,
     .read_by = {.parts = kStepPart}},
};

const Setting kOutputSettings[] = {
    // What predict, plan make and data generate write.
    {.name = "out",
     .commands = kPredict,
     .help = "Where the probabilities go; - is stdout",
     .at = File{.at = &At<&RunConfig::files, &FilesConfig::out>, .writes = true, .or_stdout = true}},
    {.name = "logits",
     .commands = kPredict,
     .help = "Logits instead of probabilities",
     .at = &At<&RunConfig::files, &FilesConfig::logits>},
    {.name = "dump-inputs",
     .commands = kPredict,
     .help = "Also write what the model sees, a JSON object a line",
     .at = File{.at = &At<&RunConfig::files, &FilesConfig::dump_inputs>, .writes = true}},
    {.name = "out",
     .commands = kPlanMake,
     .help = "Write the plan to FILE",
     .at = File{.at = &At<&RunConfig::files, &FilesConfig::out>, .writes = true}},
    {.name = "out",
     .commands = kDataGenerate,
     .help = "File to write",
     .at = File{.at = &At<&RunConfig::files, &FilesConfig::out>, .writes = true}},
    {.name = "samples",
     .commands = kDataGenerate,
     .help = "Samples in it",
     .at = &At<&RunConfig::generate, &GenerateConfig::samples>,
     .least = 1},
    {.name = "test-out",
     .commands = kDataGenerate,
     .help = "A second file with samples of its own, to test on",
     .at = File{.at = &At<&RunConfig::generate, &GenerateConfig::test_out>, .writes = true}},
    {.name = "test-samples",
     .commands = kDataGenerate,
     .help = "Samples in that",
     .at = &At<&RunConfig::generate, &GenerateConfig::test_samples>,
     .least = 1,
     .read_by = {.with = "test-out"}},
    {.name = "format",
     .commands = kDataGenerate,
     .help = "criteo: tab-separated, no header; csv: with one",
     .at = ChoiceAt<kPlantedLayouts, &RunConfig::generate, &GenerateConfig::layout>()},
    {.name = "rows",
     .commands = kDataGenerate,
     .help = "Ids of the 26 features: a list or a preset's name (default: mlperf's, at most 200 each). A "
             "reader's tables need at least as many rows",
     .at = &At<&RunConfig::generate, &GenerateConfig::rows>},
    {.name = "file",
     .commands = kExperiment,
     .help = "The experiment: a TOML file, see bench/experiments",
     .at = File{.at = &At<&RunConfig::experiment, &ExperimentSettings::file>},
     .positional = true},
    {.name = "log",
     .commands = kExperiment,
     .help = "The log that the result is added to; made if it is not there (docs/EXPERIMENT_LOG.md, which "
             "must be there)",
     .at = File{.at = &At<&RunConfig::experiment, &ExperimentSettings::log>, .writes = true}},
    {.name = "rounds",
     .commands = kExperiment,
     .help = "How often each configuration runs; 0: what the file says",
     .at = &At<&RunConfig::experiment, &ExperimentSettings::rounds>,
     .least = 0,
     .most = 1000},
    {.name = "dry-run",
     .commands = kExperiment,
     .help = "Print the commands of a round; run and write nothing",
     .at = &At<&RunConfig::experiment, &ExperimentSettings::dry_run>},
};

constexpr RunCommand kCommands[] = {kTrain,    kEval,     kPredict,      kBench,  kDataGenerate, kDataInfo,
                                    kPlanMake, kPlanShow, kPlanValidate, kDoctor, kExperiment};

}  // namespace

std::span<const Setting> AllSettings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> settings;
    for (const std::span<const Setting> part :
         {std::span<const Setting>(kSavedSettings), DataSettings(), std::span<const Setting>(kLoopSettings),
          ModelSettings(), PlacementSettings(), std::span<const Setting>(kOutputSettings),
          std::span<const Setting>(kCommonSettings)}) {
      settings.insert(settings.end(), part.begin(), part.end());
    }
    return settings;
  }();
  return all;
}

std::vector<const Setting*> SettingsOf(RunCommand command) {
  std::vector<const Setting*> settings;
  for (const Setting& setting : AllSettings()) {
    if ((setting.commands & command) != 0) settings.push_back(&setting);
  }
  return settings;
}

const Setting* FindSetting(RunCommands commands, std::string_view name) {
  for (const Setting& setting : AllSettings()) {
    if ((setting.commands & commands) == 0) continue;
    if (setting.name == name || (!name.empty() && setting.negated == name)) return &setting;
  }
  return nullptr;
}

std::vector<std::string> KeysOf(RunCommand command) {
  std::vector<std::string> keys;
  for (const Setting* setting : SettingsOf(command)) {
    if (setting->name != "config") keys.emplace_back(setting->name);
    if (!setting->negated.empty()) keys.emplace_back(setting->negated);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

RunConfig DefaultConfig(RunCommand command) {
  RunConfig config;
  if (command == kTrain) config.placement.sharding = std::string("auto");
  if (command == kPlanValidate) config.placement.ranks = 0;
  if (command == kEval || command == kPredict) config.loop.batch_size = 4096;
  if (command == kPredict) config.files.out = std::string("-");
  return config;
}

std::string_view CommandName(RunCommand command) {
  switch (command) {
    case kTrain:
      return "train";
    case kEval:
      return "eval";
    case kPredict:
      return "predict";
    case kBench:
      return "bench";
    case kDataGenerate:
      return "data generate";
    case kDataInfo:
      return "data info";
    case kPlanMake:
      return "plan make";
    case kPlanShow:
      return "plan show";
    case kPlanValidate:
      return "plan validate";
    case kDoctor:
      return "doctor";
    case kExperiment:
      return "experiment";
  }
  return {};
}

std::span<const RunCommand> AllCommands() { return kCommands; }

}  // namespace hotrow

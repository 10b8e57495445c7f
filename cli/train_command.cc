// hotrow train: trains on real or generated data, evaluates, saves.

#include <fmt/core.h>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/data_flags.h"
#include "cli/evaluation_report.h"
#include "cli/made_directory.h"
#include "cli/model_flags.h"
#include "cli/rank_flags.h"
#include "cli/run_ranks.h"
#include "cli/same_flags.h"
#include "cli/targets.h"
#include "cli/unread_flags.h"
#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/gather_trace.h"
#include "hotrow/comm/process.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/data/presets.h"
#include "hotrow/machine/system.h"
#include "hotrow/train/loop.h"
#include "hotrow/train/model_file.h"
#include "hotrow/train/rank_source.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TrainFlags {
  CommonFlags common;
  ModelFlags model;
  RankFlags over;
  DataFlags data;
  std::vector<std::string> eval_data;
  bool shuffle = true;
  std::int64_t samples = 100'000;
  std::string multi_hot = "mlperf";
  std::string ids = "uniform";
  LoopConfig loop{.epochs = 1, .batch_size = 2048, .eval_every = 1};
  std::string save;
};

void AddFlags(CLI::App& app, TrainFlags& f) {
  AddCommonFlags(app, f.common);
  AddDataFlags(app, f.data);
  AddPathsFlag(app, "--eval-data", "Files to evaluate on", f.eval_data);
  app.add_flag("--shuffle,!--no-shuffle", f.shuffle,
               "Another order each epoch, encoded in memory; --no-shuffle streams files in their order")
      ->default_str("true");
  app.add_option("--samples", f.samples, "synthetic: samples an epoch")->capture_default_str();
  app.add_option("--multi-hot", f.multi_hot,
                 "synthetic: ids a sample of every feature: mlperf, one, or a list")
      ->capture_default_str();
  app.add_option("--ids", f.ids, "synthetic: uniform or zipf:ALPHA")->capture_default_str();
  app.add_option("--epochs", f.loop.epochs, "Passes over the data")->capture_default_str();
  app.add_option("--batch-size", f.loop.batch_size, "Samples a step, the global batch")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--eval-every", f.loop.eval_every,
                 "Epochs between evaluations, fractions count; 0: at the end")
      ->capture_default_str();
  app.add_option("--auc-target", f.loop.auc_target, "Stop when an evaluation reaches it; 0: never")
      ->capture_default_str();
  app.add_option("--max-steps", f.loop.max_steps, "Stop after so many steps; 0: no bound")
      ->capture_default_str();
  app.add_option("--save", f.save,
                 "Write the model as safetensors under TorchRec's names; also when training is interrupted")
      ->type_name("FILE");
  AddModelFlags(app, f.model);
  AddRankFlags(app, f.over);
}

std::string Duration(double seconds) {
  const auto s = static_cast<std::int64_t>(std::ceil(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

std::string Describe(const Progress& p) {
  std::string text = fmt::format("epoch {} step {}", p.epoch + 1, p.step);
  if (p.total_samples) {
    text += fmt::format(" {:.0f}%",
                        100.0 * static_cast<double>(p.epoch_samples) / static_cast<double>(*p.total_samples));
  }
  text += fmt::format("  loss {:.5f}", p.loss);
  if (p.samples_per_s) text += fmt::format("  {:.0f} samples/s", *p.samples_per_s);
  if (p.seconds_left) text += "  ETA " + Duration(*p.seconds_left);
  return text;
}

const char* ToString(StopReason reason) {
  switch (reason) {
    case StopReason::kDone:
      return "done";
    case StopReason::kAucTarget:
      return "auc_target";
    case StopReason::kMaxSteps:
      return "max_steps";
    case StopReason::kInterrupted:
      return "interrupted";
  }
  return "";
}

// Every evaluation; where there is one, the last AUC and the best, null where none was defined.
void AddEvaluations(const LoopResult& result, Json& json) {
  Json evaluations = Json::array();
  Json best = nullptr;
  for (const EvaluationPoint& point : result.evaluations) {
    Json item = EvaluationJson(point.result);
    item["epoch"] = point.epoch;
    item["step"] = point.step;
    if (item["auc"].is_number() && (best.is_null() || item["auc"] > best)) best = item["auc"];
    evaluations.push_back(std::move(item));
  }
  json["evaluations"] = evaluations;
  if (evaluations.empty()) return;
  json["auc"] = evaluations.back()["auc"];
  json["best_auc"] = best;
}

// Null where no time has passed.
Json SamplesPerSecond(const LoopResult& result) {
  return result.seconds > 0 ? Json(static_cast<double>(result.samples) / result.seconds) : Json(nullptr);
}

// Collective.
Json ResultJson(const TrainFlags& flags, const LoopResult& result, const RanksOfHost& host,
                Trainer& trainer) {
  Communicator& comm = trainer.comm();
  const bool hashed = trainer.TableBytes() <= Trainer::kHashedBytes;
  Json json = {{"command", "train"},
               {"version", HOTROW_VERSION},
               {"cpu", CpuName()},
               {"world", comm.size()},
               {"transport", host.transport},
               {"threads", ProcessThreads(comm, trainer.pool().size())},
               {"seed", flags.common.seed},
               {"batch_size", flags.loop.batch_size},
               {"epochs", flags.loop.epochs},
               {"sharding", flags.over.sharding},
               {"reduction_units", trainer.config().reduction_units},
               {"steps", result.steps},
               {"samples", result.samples},
               {"seconds", result.seconds},
               {"samples_per_s", SamplesPerSecond(result)},
               {"stopped", ToString(result.reason)},
               {"bad_ids", AllReduceSum(comm, trainer.bad_ids())},
               {"losses", result.losses}};
  AddEvaluations(result, json);
  json["weights_hash"] = hashed ? Json(fmt::format("{:016x}", trainer.WeightsHash())) : Json(nullptr);
  json["state_hash"] = hashed ? Json(fmt::format("{:016x}", trainer.StateHash())) : Json(nullptr);
  json["saved"] = flags.save.empty() ? Json(nullptr) : Json(flags.save);
  json["peak_rss_bytes"] = PeakRss(comm);
  return json;
}

LoopConfig LoopOf(const TrainFlags& flags) {
  LoopConfig loop = flags.loop;
  loop.pipeline = Pipelined(flags.over);
  return loop;
}

void RefuseUnread(const TrainFlags& flags, const DataSpec& spec, const GivenFlags& given) {
  RefuseUnread(spec, given);
  if (spec.format == DataFormat::kSynthetic) {
    if (!flags.eval_data.empty()) Fail("--eval-data: --format synthetic reads no files");
    given.Refuse("--format synthetic", {{"--shuffle", "--format criteo or csv"}});
  } else {
    const char* const synthetic = "--format synthetic";
    given.Refuse(spec.format == DataFormat::kCsv ? "--format csv" : "--format criteo",
                 {{"--samples", synthetic}, {"--multi-hot", synthetic}, {"--ids", synthetic}});
  }
  if (flags.eval_data.empty()) given.Refuse("a run without --eval-data", {{"--eval-every", "one with it"}});
}

DataSpec TrainingSpec(const TrainFlags& flags, const GivenFlags& given) {
  DataSpec spec = MakeDataSpec(flags.data, flags.common);
  RefuseUnread(flags, spec, given);
  spec.shuffle = flags.shuffle;
  spec.refuse_bad_ids = ParseBadIds(flags.model.bad_ids) == BadIds::kError;
  if (spec.format == DataFormat::kSynthetic) {
    spec.bag_sizes = ParseMultiHot(flags.multi_hot, static_cast<std::int64_t>(spec.rows.size()));
    spec.ids = ParseIdDistribution(flags.ids);
    spec.samples = flags.samples;
  }
  return spec;
}

// What cannot be written is refused before hours of training, not after. By the process that will write it: a
// directory may be on its host alone.
void CheckOutputs(const TrainFlags& flags) {
  std::vector<NamedFile> inputs = {{"--config", flags.common.config}, {"--schema", flags.data.schema}};
  for (const auto& [flag, paths] :
       {std::pair("--data", &flags.data.data), std::pair("--eval-data", &flags.eval_data)}) {
    const std::vector<NamedFile> named = Named(flag, *paths);
    inputs.insert(inputs.end(), named.begin(), named.end());
  }
  CheckTargets({{"--save", flags.save}, JsonTarget(flags.common), TraceTarget(flags.over)}, inputs);
}

// What all ranks of this process train on and evaluate with.
struct TrainData {
  std::shared_ptr<const RecordEncoder> encoder;
  std::unique_ptr<BatchSource> source;
  std::unique_ptr<BatchSource> eval_source;
};

TrainData OpenData(const TrainFlags& flags, const GivenFlags& given) {
  const DataSpec spec = TrainingSpec(flags, given);
  TrainData data;
  data.encoder = MakeEncoder(spec);
  data.source = OpenSource(spec, data.encoder);
  if (!flags.eval_data.empty()) {
    DataSpec eval_spec = spec;
    eval_spec.paths = flags.eval_data;
    eval_spec.shuffle = false;
    data.eval_source = OpenSource(eval_spec, data.encoder);
  }
  return data;
}

std::vector<double> IdsPerSample(const DataDescription& data) {
  std::vector<double> ids;
  for (const SparseFeature& feature : data.features)
    ids.push_back(feature.fixed_size > 0 ? feature.fixed_size : 1);
  return ids;
}

// One rank's part in a run.
class TrainRun {
 public:
  TrainRun(const TrainFlags& flags, TrainData& data, Communicator& comm, const RanksOfHost& host)
      : flags_(flags),
        data_(data),
        comm_(comm),
        host_(host),
        pool_(ThreadsOfRank(flags.common, comm, host)) {}

  int Run() {
    const DataDescription& description = data_.source->description();
    TrainerConfig config =
        MakeTrainerConfig(flags_.model, MakeModelConfig(flags_.model, description), flags_.common.seed);
    PlaceOnRanks(flags_.over, flags_.model, IdsPerSample(description), comm_, host_, config);
    Trainer trainer(config, comm_, pool_);
    Tracer tracer(pool_.size());
    const bool traced = !flags_.over.profile_dir.empty();
    if (traced) trainer.set_tracer(&tracer);
    RankSource source(*data_.source, config.reduction_units, comm_);
    std::optional<RankSource> eval_source;
    if (data_.eval_source) eval_source.emplace(*data_.eval_source, config.reduction_units, comm_);
    if (!flags_.save.empty() && comm_.rank() == 0) CheckSave(trainer, flags_.save, Metadata());
    const LoopResult result =
        TrainLoop(trainer, source, eval_source ? &*eval_source : nullptr, LoopOf(flags_), Observer());
    const bool interrupted = TakeInterrupt() || result.reason == StopReason::kInterrupted;
    if (!flags_.save.empty()) {
      const TraceSpan span(trainer.tracer(), TraceName::kCheckpoint);
      SaveModel(trainer, flags_.save, Metadata(), ObserverOfSave());
    }
    const Json json = ResultJson(flags_, result, host_, trainer);
    if (comm_.rank() == 0) Report(result, json);
    // Last: whatever is wrong with it, the model and the result are there.
    if (traced) WriteTrace(comm_, tracer, flags_.over.profile_dir);
    return interrupted ? kInterrupted : kDone;
  }

 private:
  LoopObserver Observer() const {
    LoopObserver observer;
    observer.interrupted = &g_interrupted;
    if (comm_.rank() != 0) return observer;
    observer.on_progress = [this](const Progress& p) { PrintProgress(flags_.common, Describe(p)); };
    observer.on_evaluation = [this](const EvaluationPoint& point) {
      PrintProgress(flags_.common,
                    fmt::format("epoch {:.2f}: {}", point.epoch, EvaluationText(point.result)));
    };
    return observer;
  }

  std::map<std::string, std::string> Metadata() const {
    std::map<std::string, std::string> metadata;
    if (data_.encoder) metadata["hotrow.encoder"] = data_.encoder->ToJson();
    return metadata;
  }

  // Collective: whether a signal has come by now. It has ended the training, and what is trained is saved all
  // the same; one that comes later ends the saving.
  bool TakeInterrupt() { return AllReduceMax(comm_, g_interrupted.exchange(false) ? 1 : 0) > 0; }

  SaveObserver ObserverOfSave() const {
    SaveObserver observer;
    observer.interrupted = &g_interrupted;
    if (comm_.rank() != 0) return observer;
    observer.on_progress = [this, said = -1.0](std::int64_t bytes, std::int64_t total) mutable {
      const double now = NowSeconds();
      if (now - said < LoopConfig{}.progress_seconds) return;
      said = now;
      PrintProgress(flags_.common,
                    fmt::format("saving {}: {:.0f}% of {:.3f} GB", flags_.save,
                                100.0 * static_cast<double>(bytes) / static_cast<double>(total),
                                static_cast<double>(total) / 1e9));
    };
    return observer;
  }

  void Report(const LoopResult& result, const Json& json) const {
    std::string text =
        fmt::format("trained {} steps, {} samples in {:.1f} s", result.steps, result.samples, result.seconds);
    if (const Json& rate = json["samples_per_s"]; rate.is_number())
      text += fmt::format(" ({:.0f} samples/s)", rate.get<double>());
    if (json["bad_ids"].get<std::int64_t>() > 0)
      text += fmt::format("\n{} ids outside their tables", json["bad_ids"].get<std::int64_t>());
    if (!result.evaluations.empty()) text += "\n" + EvaluationText(result.evaluations.back().result);
    if (json["weights_hash"].is_string()) text += "\nweights_hash " + json["weights_hash"].get<std::string>();
    if (!flags_.save.empty()) text += "\nsaved " + flags_.save;
    PrintResult(flags_.common, text);
    WriteJson(flags_.common, json);
  }

  const TrainFlags& flags_;
  TrainData& data_;
  Communicator& comm_;
  const RanksOfHost& host_;
  ThreadPool pool_;
};

int Run(TrainFlags& flags, CLI::App& app, MpiSession* processes) {
  const GivenFlags given(app);
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  if (processes != nullptr) CheckSameFlags(app, processes->world());
  const MadeDirectory directory({"--profile-dir", WritesResults(processes) ? flags.over.profile_dir : ""});
  if (WritesResults(processes)) CheckOutputs(flags);
  TrainData data = OpenData(flags, given);
  CheckLoop(LoopOf(flags), data.source->description(), data.eval_source != nullptr);
  InstallInterruptHandler();
  return RunRanks(processes, flags.over.ranks, [&](Communicator& comm, const RanksOfHost& host) {
    return TrainRun(flags, data, comm, host).Run();
  });
}

}  // namespace

Command AddTrainCommand(CLI::App& root) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* app = root.add_subcommand("train", "Train a model on real or generated data");
  AddFlags(*app, *flags);
  return {.app = app,
          .run_on_ranks = [flags, app](MpiSession* processes) { return Run(*flags, *app, processes); }};
}

}  // namespace hotrow::cli

// hotrow train: trains on real or generated data, evaluates, saves.

#include <fmt/core.h>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/evaluation_report.h"
#include "cli/made_directory.h"
#include "cli/run_ranks.h"
#include "cli/settings_flags.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/gather_trace.h"
#include "hotrow/comm/process.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/machine/system.h"
#include "hotrow/run/no_effect.h"
#include "hotrow/run/resolve.h"
#include "hotrow/run/run_data.h"
#include "hotrow/train/loop.h"
#include "hotrow/train/model_file.h"
#include "hotrow/train/rank_source.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

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
Json ResultJson(const RunConfig& run, const LoopResult& result, const RanksOfHost& host, Trainer& trainer) {
  Communicator& comm = trainer.comm();
  const bool hashed = trainer.TableBytes() <= Trainer::kHashedBytes;
  Json json = {{"command", "train"},
               {"version", HOTROW_VERSION},
               {"cpu", CpuName()},
               {"world", comm.size()},
               {"transport", host.transport},
               {"threads", ProcessThreads(comm, trainer.pool().size())},
               {"seed", run.common.seed},
               {"batch_size", run.loop.batch_size},
               {"epochs", run.loop.epochs},
               {"sharding", run.placement.sharding},
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
  json["saved"] = run.files.save.empty() ? Json(nullptr) : Json(run.files.save);
  json["peak_rss_bytes"] = PeakRss(comm);
  return json;
}

// One rank's part in a run.
class TrainRun {
 public:
  TrainRun(const RunConfig& run, TrainData& data, Communicator& comm, const RanksOfHost& host)
      : run_(run), data_(data), comm_(comm), host_(host), pool_(ThreadsOfRank(run.common, comm, host)) {}

  int Run() {
    const DataDescription& description = data_.source->description();
    const TrainerConfig config = Resolve(run_, description, WorldOf(comm_, host_));
    Trainer trainer(config, comm_, pool_);
    Tracer tracer(pool_.size());
    const bool traced = !run_.files.profile_dir.empty();
    if (traced) trainer.set_tracer(&tracer);
    RankSource source(*data_.source, config.reduction_units, comm_);
    std::optional<RankSource> eval_source;
    if (data_.eval_source) eval_source.emplace(*data_.eval_source, config.reduction_units, comm_);
    if (!run_.files.save.empty() && comm_.rank() == 0)
      CheckSave(trainer, run_.files.save, data_.encoder.get());
    const LoopResult result =
        TrainLoop(trainer, source, eval_source ? &*eval_source : nullptr, run_.loop, Observer());
    const bool interrupted = TakeInterrupt() || result.reason == StopReason::kInterrupted;
    if (!run_.files.save.empty()) {
      const TraceSpan span(trainer.tracer(), TraceName::kCheckpoint);
      SaveModel(trainer, run_.files.save, data_.encoder.get(), ObserverOfSave());
    }
    Json json = ResultJson(run_, result, host_, trainer);
    if (data_.eval_source) json["unknown_values"] = UnknownJson(data_.eval_source->Unknown());
    if (comm_.rank() == 0) Report(result, json);
    // Last: whatever is wrong with it, the model and the result are there.
    if (traced) WriteTrace(comm_, tracer, run_.files.profile_dir);
    return interrupted ? kInterrupted : kDone;
  }

 private:
  LoopObserver Observer() const {
    LoopObserver observer;
    observer.interrupted = &g_interrupted;
    if (comm_.rank() != 0) return observer;
    observer.on_progress = [this](const Progress& p) { PrintProgress(run_.common, Describe(p)); };
    observer.on_evaluation = [this](const EvaluationPoint& point) {
      PrintProgress(run_.common, fmt::format("epoch {:.2f}: {}", point.epoch, EvaluationText(point.result)));
    };
    return observer;
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
      PrintProgress(run_.common, fmt::format("saving {}: {:.0f}% of {:.3f} GB", run_.files.save,
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
    if (!run_.files.save.empty()) text += "\nsaved " + run_.files.save;
    PrintResult(run_.common, text);
    if (data_.eval_source) PrintUnknown(run_.common, data_.eval_source->Unknown());
    WriteJson(run_.common, json);
  }

  const RunConfig& run_;
  TrainData& data_;
  Communicator& comm_;
  const RanksOfHost& host_;
  ThreadPool pool_;
};

// Of the whole run, where the data says how many samples it has.
std::optional<std::int64_t> StepsOf(const LoopConfig& loop, const DataDescription& data) {
  if (!data.samples) return std::nullopt;
  const std::int64_t steps = CheckedMul(CeilDiv(*data.samples, loop.batch_size), loop.epochs);
  return loop.max_steps > 0 ? std::min(steps, loop.max_steps) : steps;
}

int RunTrain(const CLI::App& app, MpiSession* processes) {
  const RunSettings settings = ReadCommandLine(app, kTrain);
  const RunConfig& run = settings.config;
  if (processes != nullptr) CheckSameSettings(settings, processes->world());
  const MadeDirectory directory({"--profile-dir", WritesResults(processes) ? run.files.profile_dir : ""});
  if (WritesResults(processes)) CheckOutputs(settings);
  TrainData data = OpenTrainData(run, processes == nullptr);
  const DataDescription& description = data.source->description();
  CheckLoop(run.loop, description, data.eval_source != nullptr);
  for (const std::string& line :
       CheckEffects(ResolveTrainer(run, description), StepsOf(run.loop, description))) {
    if (WritesResults(processes)) PrintProgress(run.common, "warning: " + line);
  }
  InstallInterruptHandler();
  return RunRanks(processes, run.placement.ranks, [&](Communicator& comm, const RanksOfHost& host) {
    return TrainRun(run, data, comm, host).Run();
  });
}

}  // namespace

Command AddTrainCommand(CLI::App& root) {
  CLI::App* app = root.add_subcommand("train", "Train a model on real or generated data");
  AddSettings(*app, kTrain);
  return {.app = app, .run_on_ranks = [app](MpiSession* processes) { return RunTrain(*app, processes); }};
}

}  // namespace hotrow::cli

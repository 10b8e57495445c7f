// hotrow bench --part step: the whole training step, with the limit of its matrix products measured in
// between.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_parts.h"
#include "cli/bench_report.h"
#include "cli/run_ranks.h"
#include "hotrow/comm/gather_trace.h"
#include "hotrow/measure/statistics.h"
#include "hotrow/measure/step_benchmark.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string StepReport(const BenchFlags& flags, const Json& json, const std::vector<double>& step_seconds) {
  const auto ms = [&](const char* key) { return json["ms_per_step"][key].get<double>(); };
  std::string text = fmt::format(
      "{}\nms/step: {:.2f} mean over ranks, {:.2f} max over ranks, {:.2f} rank-0 median (10 % {:.2f}, 90 % "
      "{:.2f})\n"
      "{:.0f} samples/s, {:.3f} K samples/s/chip\n",
      BenchHeadline(flags, json), ms("mean_over_ranks"), ms("max_over_ranks"), ms("rank0_median"),
      1e3 * Quantile(step_seconds, 0.1), 1e3 * Quantile(step_seconds, 0.9),
      json["samples_per_s"].get<double>(), json["k_samples_per_s_per_chip"].get<double>());
  text += PhaseLines(json);
  const double limit = json["limits"]["gemm_samples_per_s"].get<double>();
  text += fmt::format(
      "limit: the step's GEMMs alone {:.0f} samples/s ({:.3f} of it reached); rows: {:.1f} M/s read, "
      "{:.1f} M/s updated",
      limit, json["samples_per_s"].get<double>() / limit,
      json["limits"]["gather_rows_per_s"].get<double>() / 1e6,
      json["limits"]["update_rows_per_s"].get<double>() / 1e6);
  if (json["weights_hash"].is_string()) text += "\nweights_hash " + json["weights_hash"].get<std::string>();
  return text;
}

// One rank's part in a run.
class StepRun {
 public:
  StepRun(const BenchFlags& flags, Communicator& comm, const RanksOfHost& host)
      : flags_(flags), comm_(comm), host_(host), pool_(ThreadsOfRank(flags.common, comm, host)) {
    flags_.over.ranks = comm.size();
    data_ = MakeBenchData(flags_);
  }

  int Run() {
    const TrainerConfig config = MakeBenchConfig(flags_, data_, comm_, host_);
    Json json = BenchFields(flags_, data_, ProcessThreads(comm_, pool_.size()));
    json["transport"] = host_.transport;
    json["reduction_units"] = config.reduction_units;
    json["output_permute"] = flags_.over.output_permute;
    json["pipeline"] = flags_.over.pipeline;
    if (flags_.check && !Check(config, json)) return kFailed;
    Trainer trainer(config, comm_, pool_);
    Tracer tracer(pool_.size());
    const bool traced = !flags_.over.profile_dir.empty();
    const StepBenchmarkResult result = RunStepBenchmark({.data = data_,
                                                         .global_batch = GlobalBatch(flags_),
                                                         .steps = flags_.steps,
                                                         .warmup = flags_.warmup,
                                                         .pipeline = Pipelined(flags_.over),
                                                         .tracer = traced ? &tracer : nullptr,
                                                         .on_step = ProgressOf(flags_, comm_)},
                                                        trainer);
    json["micro_batch"] = trainer.tower().micro_batch();
    json["tables"] = ToString(config.storage);
    AddTimes(result, json);
    json["limits"] = {{"gemm_samples_per_s", GlobalBatchOf() / Mean(result.limit_seconds)}};
    json["limits"].update(RowLimitsJson(trainer.embeddings(), comm_, pool_));
    json["losses"] = result.losses;
    AddHashes(flags_, trainer, json);
    json["model_bytes"] = trainer.ModelBytes();
    json["peak_rss_bytes"] = PeakRss(comm_);
    if (comm_.rank() == 0) {
      PrintResult(flags_.common, StepReport(flags_, json, result.step_seconds));
      WriteJson(flags_.common, json);
    }
    // Last: whatever is wrong with it, the result is there.
    if (traced) WriteTrace(comm_, tracer, flags_.over.profile_dir);
    return kDone;
  }

 private:
  double GlobalBatchOf() const { return static_cast<double>(GlobalBatch(flags_)); }

  bool Check(const TrainerConfig& config, Json& json) {
    const CheckResult check =
        CheckStep(config, data_, GlobalBatch(flags_), Pipelined(flags_.over), comm_, pool_);
    if (comm_.rank() == 0) {
      ReportCheck(flags_, check, json);
      if (!check.ok) WriteJson(flags_.common, json);
    }
    return check.ok;
  }

  void AddTimes(const StepBenchmarkResult& result, Json& json) const {
    const double slowest = *std::max_element(result.rank_seconds.begin(), result.rank_seconds.end());
    const double per_rank = static_cast<double>(flags_.per_chip_batch) / slowest / 1e3;
    json["steps"] = flags_.steps;
    json["warmup"] = flags_.warmup;
    json["ms_per_step"] = {{"mean_over_ranks", 1e3 * Mean(result.rank_seconds)},
                           {"max_over_ranks", 1e3 * slowest},
                           {"rank0_median", 1e3 * Median(result.step_seconds)}};
    json["samples_per_s"] = GlobalBatchOf() / slowest;
    json["k_samples_per_s_per_rank"] = per_rank;
    json["k_samples_per_s_per_chip"] = per_rank * static_cast<double>(flags_.ranks_per_chip);
    json["phases_ms"] = PhasesJson(result.phases, flags_.steps);
    json["exposed_ms"] = ExposedJson(result.phases, flags_.steps);
    json["bytes"] = BytesJson(result.bytes, flags_.steps);
  }

  BenchFlags flags_;
  Communicator& comm_;
  const RanksOfHost& host_;
  ThreadPool pool_;
  SyntheticConfig data_;
};

}  // namespace

int BenchStep(const BenchFlags& flags, MpiSession* processes) {
  return RunRanks(processes, flags.over.ranks, [&](Communicator& comm, const RanksOfHost& host) {
    return StepRun(flags, comm, host).Run();
  });
}

}  // namespace hotrow::cli

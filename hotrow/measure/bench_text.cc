#include <fmt/core.h>

#include <optional>

#include "hotrow/machine/system.h"
#include "hotrow/measure/bench_report.h"
#include "hotrow/measure/statistics.h"

namespace hotrow {
namespace {

// A cap larger than every table is most likely not what was meant.
std::string CapText(const BenchConfig& config) {
  if (config.max_rows <= 0) return "";
  return fmt::format(", {} by --max-rows {}", config.capped ? "capped" : "none capped", config.max_rows);
}

std::string Headline(const BenchRun& run) {
  const BenchConfig& config = run.config;
  return fmt::format(
      "world {}, {} threads, per-chip batch {}, global batch {}\ncardinality {} ({} rows{}), {} ids a "
      "step\n{}",
      run.world, run.threads, config.per_chip_batch, run.global_batch(), config.cardinality, run.rows(),
      CapText(config), run.ids_per_step(), CpuName());
}

// Phases that took any time.
std::string PhaseLines(const BenchRun& run, const PhaseTimes& phases, const PhaseBytes& bytes) {
  std::string text;
  for (int p = 0; p < kPhases; ++p) {
    const double seconds = phases.seconds(static_cast<Phase>(p));
    if (seconds <= 0) continue;
    text += fmt::format("  {:<16} {:9.3f} ms", kPhaseNames[static_cast<std::size_t>(p)],
                        1e3 * seconds / static_cast<double>(run.config.steps));
    const std::int64_t moved = bytes.bytes(static_cast<Phase>(p)) / run.config.steps;
    if (moved > 0) text += fmt::format("  {:10.3f} MB moved", static_cast<double>(moved) / 1e6);
    text += "\n";
  }
  return text;
}

// "5.00 GB/s"
std::string RateText(std::int64_t bytes, double seconds) {
  const std::optional<double> rate = GigabytesPerSecond(bytes, seconds);
  return rate ? fmt::format("{:.2f} GB/s", *rate) : "n/a GB/s";
}

std::string ExchangeText(const char* what, const ExchangeTimes& times) {
  const double seconds = Median(times.seconds);
  const double copy = Median(times.copy_seconds);
  return fmt::format("\n  {:<12} {:9.3f} ms, {:>11} a rank of {:.1f} MB; limit: memcpy {:.3f} ms, {}", what,
                     1e3 * seconds, RateText(times.payload_bytes, seconds),
                     static_cast<double>(times.payload_bytes) / 1e6, 1e3 * copy,
                     RateText(times.payload_bytes, copy));
}

// "1.234 ms (median; 10 % 1.1, 90 % 1.3), 5.00 GB/s"
std::string SpreadText(const std::vector<double>& seconds, std::int64_t payload_bytes) {
  return fmt::format("{:.3f} ms (median; 10 % {:.3f}, 90 % {:.3f}), {}", 1e3 * Median(seconds),
                     1e3 * Quantile(seconds, 0.1), 1e3 * Quantile(seconds, 0.9),
                     RateText(payload_bytes, Median(seconds)));
}

std::string WithoutLineBreak(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::string ToText(const CheckResult& check) {
  return fmt::format("check: {} samples, largest relative error {:.3g}: {}", check.samples, check.max_error,
                     check.ok ? "ok" : "MISMATCH");
}

std::string ToText(const StepResult& result) {
  std::string text = fmt::format(
      "{}\nms/step: {:.2f} mean over ranks, {:.2f} max over ranks, {:.2f} rank-0 median (10 % {:.2f}, 90 % "
      "{:.2f})\n"
      "{:.0f} samples/s, {:.3f} K samples/s/chip\n",
      Headline(result.run), result.mean_over_ranks_ms, result.max_over_ranks_ms, result.rank0_median_ms,
      1e3 * Quantile(result.step_seconds, 0.1), 1e3 * Quantile(result.step_seconds, 0.9),
      result.samples_per_s, result.k_samples_per_s_per_chip);
  text += PhaseLines(result.run, result.phases, result.bytes);
  if (result.gemm_samples_per_s && result.rows) {
    text += fmt::format(
        "limit: the step's GEMMs alone {:.0f} samples/s ({:.3f} of it reached); rows: {:.1f} M/s read, "
        "{:.1f} M/s updated\n",
        *result.gemm_samples_per_s, result.samples_per_s / *result.gemm_samples_per_s,
        result.rows->gather_rows_per_s / 1e6, result.rows->update_rows_per_s / 1e6);
  }
  if (result.weights_hash) text += fmt::format("weights_hash {:016x}", *result.weights_hash);
  return WithoutLineBreak(text);
}

std::string ToText(const SparseResult& result) {
  std::string text = fmt::format(
      "{}\nforward {:.2f} ms (median; {:.2f} M rows/s, {:.1f} GB/s)\nforward + backward + update {:.2f} "
      "ms (median; 10 % {:.2f}, 90 % {:.2f})\n",
      Headline(result.run), result.forward_ms, result.forward_rows_per_s / 1e6, result.forward_gb_s,
      result.step_ms, 1e3 * Quantile(result.step_seconds, 0.1), 1e3 * Quantile(result.step_seconds, 0.9));
  text += PhaseLines(result.run, result.phases, result.bytes);
  if (!result.rows) return WithoutLineBreak(text);
  const double memory_ms = 1e3 * result.rows->SecondsOf(result.work);
  return text + fmt::format(
                    "limit: rows read {:.1f} M/s, rows updated {:.1f} M/s; for the {} read and {} updated a "
                    "step {:.2f} ms ({:.3f} of it reached)",
                    result.rows->gather_rows_per_s / 1e6, result.rows->update_rows_per_s / 1e6,
                    result.work.rows_read, result.work.rows_updated, memory_ms, memory_ms / result.step_ms);
}

std::string ToText(const AllToAllResult& result) {
  const std::int64_t moved = result.ids.sent_bytes + result.pooled.sent_bytes;
  return fmt::format("{}\nexchanges over {} ranks ({}): {} a rank; {:.1f} MB between ranks{}{}",
                     Headline(result.run), result.run.world, result.run.transport,
                     SpreadText(result.both.seconds, result.both.payload_bytes),
                     static_cast<double>(moved) / 1e6, ExchangeText("input_dist", result.ids),
                     ExchangeText("output_dist", result.pooled));
}

std::string ToText(const RecatResult& result) {
  std::string text =
      fmt::format("{}\nrecat {} of {} sources, {}-byte ids: ", Headline(result.run),
                  ToString(result.run.config.trainer.dist.recat), result.run.world, result.id_bytes);
  if (result.seconds.empty()) {
    text += "nothing to time: the lookup reads the ids as they arrived";
  } else {
    text += fmt::format("{} of ids; {:.1f} MB read and written",
                        SpreadText(result.seconds, result.payload_bytes()),
                        static_cast<double>(result.bytes_moved) / 1e6);
  }
  const double copy = Median(result.copy_seconds);
  return text + fmt::format("\nlimit: a plain copy of the ids {:.3f} ms, {}", 1e3 * copy,
                            RateText(result.payload_bytes(), copy));
}

std::string ToText(const GemmResult& result) {
  std::string text =
      fmt::format("{}\nforward, dX and dW of a batch: {:.1f} ms (median), {:.1f} GFLOP/s, {:.0f} samples/s",
                  Headline(result.run), result.ms, result.gflops, result.samples_per_s);
  for (const GemmReport& product : result.products) {
    text += fmt::format("\n  {:<52} {:>5} x {:>5} x {:>5} {:8.1f} GFLOP/s  {}{}", product.name, product.m,
                        product.n, product.k, product.gflops, product.implementation,
                        product.is_reference ? " SLOW" : "");
  }
  return text;
}

}  // namespace hotrow

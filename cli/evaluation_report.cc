#include "cli/evaluation_report.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace hotrow::cli {

std::string EvaluationText(const Evaluation& e) {
  const std::string samples = fmt::format("({} samples, {:.2f} % positive)", e.samples, 100 * e.label_rate);
  if (std::isnan(e.auc)) {
    return fmt::format("AUC n/a: only one class is present  log loss {:.5f}  normalized entropy n/a  {}",
                       e.log_loss, samples);
  }
  return fmt::format("AUC {:.5f}  log loss {:.5f}  normalized entropy {:.5f}  {}", e.auc, e.log_loss,
                     e.normalized_entropy, samples);
}

nlohmann::ordered_json EvaluationJson(const Evaluation& e) {
  const auto number = [](double x) {
    return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
  };
  return {{"samples", e.samples},
          {"auc", number(e.auc)},
          {"log_loss", number(e.log_loss)},
          {"normalized_entropy", number(e.normalized_entropy)},
          {"label_rate", number(e.label_rate)},
          {"prediction_rate", number(e.prediction_rate)}};
}

void PrintUnknown(const CommonConfig& common, std::span<const UnknownValues> features) {
  const std::string warning = UnknownWarning(features);
  if (!warning.empty()) PrintProgress(common, warning);
}

}  // namespace hotrow::cli

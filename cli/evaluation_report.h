#pragma once
// An evaluation as a line of text and as JSON, and what makes one worth little.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "cli/app.h"
#include "hotrow/data/unknown_values.h"
#include "hotrow/train/evaluate.h"

namespace hotrow::cli {

std::string EvaluationText(const Evaluation& evaluation);

/// Figures that do not exist (the AUC of one class) are null.
nlohmann::ordered_json EvaluationJson(const Evaluation& evaluation);

/// The warning of UnknownWarning, where there is one, on stderr, unless --quiet.
void PrintUnknown(const CommonConfig& common, std::span<const UnknownValues> features);

}  // namespace hotrow::cli

#pragma once
// An evaluation as a line of text and as JSON.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hotrow/train/evaluate.h"

namespace hotrow::cli {

std::string EvaluationText(const Evaluation& evaluation);

/// Figures that do not exist (the AUC of one class) are null.
nlohmann::ordered_json EvaluationJson(const Evaluation& evaluation);

}  // namespace hotrow::cli

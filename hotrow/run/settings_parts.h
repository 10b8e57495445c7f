#pragma once
// The parts of the table of settings (settings.h), and the sets of commands and runs that they name.

#include <span>

#include "hotrow/run/setting.h"

namespace hotrow {

inline constexpr double kMany = 1 << 30;
inline constexpr RunCommands kOfModel = kTrain | kBench;
inline constexpr RunCommands kOfSaved = kEval | kPredict;
inline constexpr RunCommands kOfTables = kPlanMake | kPlanValidate;
inline constexpr RunCommands kOfData = kTrain | kDataInfo | kOfTables;
inline constexpr RunCommands kRuns = kAll & ~kExperiment;

inline constexpr unsigned kStepPart = Bit(BenchPart::kStep);
inline constexpr unsigned kTablesPart = kStepPart | Bit(BenchPart::kSparse);
inline constexpr unsigned kRecatPart = kTablesPart | Bit(BenchPart::kRecat);
inline constexpr unsigned kIdsPart = kRecatPart | Bit(BenchPart::kAllToAll);

std::span<const Setting> DataSettings();
std::span<const Setting> ModelSettings();
std::span<const Setting> PlacementSettings();

}  // namespace hotrow

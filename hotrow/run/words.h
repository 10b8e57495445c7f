#pragma once
// The words of settings that take one of a few.

#include "hotrow/base/words.h"
#include "hotrow/run/run_config.h"

namespace hotrow {

inline constexpr Word<DataFormat> kDataFormats[] = {
    {"criteo", DataFormat::kCriteo}, {"csv", DataFormat::kCsv}, {"synthetic", DataFormat::kSynthetic}};
/// Those that are files.
inline constexpr Word<DataFormat> kFileFormats[] = {{"criteo", DataFormat::kCriteo},
                                                    {"csv", DataFormat::kCsv}};
inline constexpr Word<BadIds> kBadIds[] = {
    {"error", BadIds::kError}, {"skip", BadIds::kSkip}, {"wrap", BadIds::kWrap}};
inline constexpr Word<BenchPart> kBenchParts[] = {{"step", BenchPart::kStep},
                                                  {"sparse", BenchPart::kSparse},
                                                  {"recat", BenchPart::kRecat},
                                                  {"alltoall", BenchPart::kAllToAll},
                                                  {"gemm", BenchPart::kGemm}};
inline constexpr Word<Interaction> kInteractions[] = {{"dlrm_dcn", Interaction::kCross},
                                                      {"dlrm", Interaction::kDot}};
inline constexpr Word<PoolingType> kPoolingTypes[] = {{"sum", PoolingType::kSum},
                                                      {"mean", PoolingType::kMean}};
inline constexpr Word<OptimizerKind> kOptimizerKinds[] = {{"adagrad", OptimizerKind::kAdagrad},
                                                          {"rowwise_adagrad", OptimizerKind::kRowWiseAdagrad},
                                                          {"sgd", OptimizerKind::kSgd},
                                                          {"adam", OptimizerKind::kAdam}};
inline constexpr Word<WeightDecayMode> kWeightDecayModes[] = {{"none", WeightDecayMode::kNone},
                                                              {"l2", WeightDecayMode::kL2},
                                                              {"decoupled", WeightDecayMode::kDecoupled}};
inline constexpr Word<ScheduleKind> kScheduleKinds[] = {
    {"constant", ScheduleKind::kConstant}, {"poly", ScheduleKind::kPoly}, {"cosine", ScheduleKind::kCosine}};
inline constexpr Word<BackwardKernel> kBackwardKernels[] = {{"fused", BackwardKernel::kFused},
                                                            {"unfused", BackwardKernel::kUnfused}};
inline constexpr Word<StorageChoice> kStorageChoices[] = {
    {"auto", StorageChoice::kAuto}, {"eager", StorageChoice::kEager}, {"lazy", StorageChoice::kLazy}};
inline constexpr Word<Precision> kPrecisions[] = {{"fp32", Precision::kFp32}};
inline constexpr Word<RecatMode> kRecatModes[] = {
    {"none", RecatMode::kNone}, {"cpu", RecatMode::kCpu}, {"sc", RecatMode::kSc}, {"tc", RecatMode::kTc}};
inline constexpr Word<IdBytes> kIdBytes[] = {
    {"auto", IdBytes::kAuto}, {"4", IdBytes::k4}, {"8", IdBytes::k8}};
inline constexpr Word<OutputPermute> kOutputPermutes[] = {{"none", OutputPermute::kNone},
                                                          {"cpu", OutputPermute::kCpu}};
inline constexpr Word<bool> kOnOff[] = {{"on", true}, {"off", false}};
inline constexpr Word<PlantedLayout> kPlantedLayouts[] = {{"criteo", PlantedLayout::kCriteo},
                                                          {"csv", PlantedLayout::kCsv}};

}  // namespace hotrow

#pragma once
// A model as one safetensors file under TorchRec's parameter names: what `train --save` writes and `eval`,
// `predict` and TorchRec read.
//
// Metadata: "hotrow.model", the ModelConfig as JSON; whatever the caller adds (the CLI keeps the data's
// encoder there). Optimizer state is not part of it.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "hotrow/model/config.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

/// What SaveModel tells its caller and asks it after every block of rows; either may be empty.
struct SaveObserver {
  /// Bytes so far and bytes in all, on rank 0.
  std::function<void(std::int64_t, std::int64_t)> on_progress = {};
  /// Once it is set on one rank, all throw Interrupted and `path` is as it was.
  const std::atomic<bool>* interrupted = nullptr;
};

/// Collective: rank 0 writes all weights, streamed: memory for a block of rows only. Written beside `path`
/// and renamed when complete.
void SaveModel(Trainer& trainer, const std::string& path, const std::map<std::string, std::string>& metadata,
               const SaveObserver& observer = {});

/// Throws Error where SaveModel would for want of disk or of a place to write to: for rank 0, before the
/// weights are worth saving. Returns the bytes of the file. Not collective.
std::int64_t CheckSave(Trainer& trainer, const std::string& path,
                       const std::map<std::string, std::string>& metadata);

struct ModelFileInfo {
  ModelConfig model;
  std::map<std::string, std::string> metadata;
};

/// The configuration and metadata of a file. Throws Error naming the file when it is not a Hotrow model.
ModelFileInfo ReadModelInfo(const std::string& path);

/// Collective: loads weights into a trainer of the same model; every rank reads the file. Throws Error naming
/// tensor and shapes where the file does not fit, before anything is loaded, and for weights that are not
/// finite.
void LoadModel(Trainer& trainer, const std::string& path);

/// The configuration as JSON text and back (what the metadata holds).
std::string ModelConfigToJson(const ModelConfig& config);
ModelConfig ModelConfigFromJson(const std::string& text, const std::string& file);

}  // namespace hotrow

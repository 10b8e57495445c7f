#pragma once
// A model as one safetensors file under TorchRec's parameter names: what `train --save` writes and `eval`,
// `predict` and TorchRec read.
//
// Metadata: "hotrow.model", the ModelConfig as JSON; whatever the caller adds (the CLI keeps the data's
// encoder there). Optimizer state is not part of it.

#include <map>
#include <string>

#include "hotrow/model/config.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

/// Collective: rank 0 writes all weights, streamed: memory for a block of rows only. Written beside `path`
/// and renamed when complete.
void SaveModel(Trainer& trainer, const std::string& path, const std::map<std::string, std::string>& metadata);

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

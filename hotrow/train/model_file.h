#pragma once
// A model as one safetensors file under TorchRec's parameter names: what `train --save` writes and `eval`,
// `predict` and TorchRec read.
//
// Metadata: "hotrow.model", the ModelConfig as JSON; "hotrow.encoder", JSON of the data's encoder, where the
// model was trained on files. Large vocabularies of the encoder are tensors:
// "hotrow.vocabulary.FEATURE.bytes" (U8), the texts of rows 1, 2, … one after another, and "….offsets" (I64),
// where each begins, and the last ends. All other tensors are the model's. Optimizer state is not part of it.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "hotrow/data/record_encoder.h"
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

/// Collective: rank 0 writes all weights, streamed: memory for a block of rows and the vocabularies. Written
/// beside `path` and renamed when complete. `encoder`: of the data trained on; null: generated.
void SaveModel(Trainer& trainer, const std::string& path, const RecordEncoder* encoder,
               const SaveObserver& observer = {});

/// Throws Error where SaveModel would for want of disk or of a place to write to, or for a model that could
/// not be read back: for rank 0, before the weights are worth saving. Returns the bytes of the file. Not
/// collective.
std::int64_t CheckSave(Trainer& trainer, const std::string& path, const RecordEncoder* encoder);

struct ModelFileInfo {
  ModelConfig model;
  std::shared_ptr<const RecordEncoder> encoder;  ///< null: trained on generated data
};

/// The configuration and the encoder of a file. Throws Error naming the file when it is not a Hotrow model,
/// and for an encoder that is damaged or another model's.
ModelFileInfo ReadModelInfo(const std::string& path);

/// The encoder of `path`, whose `info` it is. Throws Error where there is none.
const std::shared_ptr<const RecordEncoder>& EncoderOf(const ModelFileInfo& info, const std::string& path);

/// Collective: loads weights into a trainer of the same model; every rank reads the file. Throws Error naming
/// tensor and shapes where the file does not fit, before anything is loaded, and for weights that are not
/// finite.
void LoadModel(Trainer& trainer, const std::string& path);

/// The configuration as JSON text and back (what the metadata holds).
std::string ModelConfigToJson(const ModelConfig& config);
ModelConfig ModelConfigFromJson(const std::string& text, const std::string& file);

}  // namespace hotrow

#pragma once
// The golden vectors: whole training runs and single operations recorded from TorchRec and FBGEMM
// (data/README.md).
//
// Files are found in the directory and told apart by what is in them, so that any files of the same make are
// checked, not only the ones in data/.

#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/files/safetensors.h"
#include "hotrow/model/config.h"
#include "hotrow/optim/optimizer_config.h"
#include "hotrow/reference/reference_trainer.h"

namespace hotrow::golden {

enum class Kind { kTrainingRun, kPooling, kSparseOptimizers, kInputDist, kAuc, kUnknown };

/// HOTROW_GOLDEN_DIR where it is set (a relative one is looked for from the working directory, then from the
/// project's root: ctest changes the former), else tests/golden/data.
std::string Directory();
/// Every *.safetensors file of the directory, sorted. Throws when there is none or no directory.
std::vector<std::string> AllFiles();
Kind KindOf(const SafetensorsReader& file);
/// The files of one kind.
std::vector<std::string> Files(Kind kind);

reference::Tensor ReadTensor(SafetensorsReader& file, const std::string& name);

/// A recorded training run. Model sizes come from the tensors' shapes; the optimizer from the metadata's
/// "optimizer", else from the end of the file's name ("…_adagrad", "…_sgd").
struct TrainingRun {
  struct Step {
    Batch batch;
    std::vector<float> logits;
    double loss = 0;
  };
  ModelConfig model;
  OptimizerConfig optimizer;  ///< of the dense parameters, and of every table
  reference::Tensors initial;
  reference::Tensors first_gradients;
  reference::Tensors final;
  std::vector<Step> steps;
};
TrainingRun ReadTrainingRun(const std::string& path);

/// One recorded lookup and its backward.
struct PoolingCase {
  std::string name;
  std::vector<EmbeddingTableConfig> tables;
  std::vector<std::string> features;
  KeyedJaggedTensor batch;
  std::vector<reference::Tensor> weights;    ///< [table]
  std::vector<reference::Tensor> gradients;  ///< [table]
  std::vector<float> pooled;                 ///< [samples, sum of the features' dims]
  std::vector<float> output_gradient;        ///< as pooled
};
std::vector<PoolingCase> ReadPoolingCases(const std::string& path);

/// Some recorded steps of one sparse optimizer; feature f{i} reads table t{i}.
struct SparseOptimizerCase {
  struct Step {
    KeyedJaggedTensor batch;
    std::vector<float> output_gradient;  ///< [samples, sum of dims]
  };
  std::string name;
  OptimizerConfig optimizer;
  std::vector<EmbeddingTableConfig> tables;
  std::vector<std::string> features;
  std::vector<reference::Tensor> initial, final;  ///< [table]
  std::vector<reference::Tensor> state;           ///< [table]; none for SGD
  std::vector<Step> steps;
};
std::vector<SparseOptimizerCase> ReadSparseOptimizerCases(const std::string& path);

}  // namespace hotrow::golden

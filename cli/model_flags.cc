#include "cli/model_flags.h"

#include <utility>

#include "cli/cli11.h"
#include "hotrow/base/error.h"

namespace hotrow::cli {

void AddModelFlags(CLI::App& app, ModelFlags& f) {
  app.add_option("--model", f.model, "dlrm_dcn (low-rank cross net) or dlrm (dot interaction)")
      ->capture_default_str();
  app.add_option("--embedding-dim", f.embedding_dim, "Columns of every table")->capture_default_str();
  app.add_option("--dense-arch", f.dense_arch,
                 "Layer sizes of the dense arch, the last the embedding dim (512,256,DIM)")
      ->delimiter(',');
  app.add_option("--over-arch", f.over_arch, "Layer sizes of the over arch, the last 1")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--dcn-num-layers", f.dcn_num_layers, "Cross layers of dlrm_dcn")->capture_default_str();
  app.add_option("--dcn-low-rank", f.dcn_low_rank, "Rank of a cross layer")->capture_default_str();
  app.add_option("--pooling", f.pooling, "How a bag's rows are pooled: sum or mean")->capture_default_str();

  app.add_option("--optimizer", f.optimizer, "Of the tables: adagrad, rowwise_adagrad, sgd or adam")
      ->capture_default_str();
  app.add_option("--learning-rate", f.learning_rate, "Of both optimizers")->capture_default_str();
  app.add_option("--eps", f.eps, "Adagrad's and Adam's eps")->capture_default_str();
  app.add_option("--weight-decay", f.weight_decay, "Decay factor")->capture_default_str();
  app.add_option("--weight-decay-mode", f.weight_decay_mode, "none, l2 or decoupled")->capture_default_str();
  app.add_option("--dense-optimizer", f.dense_optimizer,
                 "Of the dense parameters: adagrad, sgd or adam (the tables'; adagrad for rowwise_adagrad)");

  app.add_option("--kernel", f.kernel, "Embedding backward: fused (touched rows) or unfused (whole tables)")
      ->capture_default_str();
  app.add_option("--tables", f.tables, "eager (all rows in memory), lazy (rows when trained) or auto")
      ->capture_default_str();
  app.add_option("--bad-ids", f.bad_ids, "An id outside its table: error, skip or wrap")
      ->capture_default_str();
  app.add_option("--precision", f.precision, "Of the tower's GEMMs: fp32")->capture_default_str();
  app.add_option("--reduction-units", f.reduction_units,
                 "Parts that a global batch is cut into for reproducible sums, the ranks times a power "
                 "of two; 0: 8, or as many more as the ranks need")
      ->capture_default_str();
}

namespace {
OptimizerConfig MakeOptimizer(const ModelFlags& flags, const std::string& kind) {
  OptimizerConfig config;
  config.kind = ParseOptimizerKind(kind);
  config.learning_rate = flags.learning_rate;
  config.eps = flags.eps;
  config.weight_decay = flags.weight_decay;
  config.weight_decay_mode = ParseWeightDecayMode(flags.weight_decay_mode);
  Validate(config);
  return config;
}
}  // namespace

ModelConfig MakeModelConfig(const ModelFlags& flags, const DataDescription& data) {
  ModelConfig model;
  model.interaction = ParseInteraction(flags.model);
  model.num_dense = data.num_dense;
  model.dense_arch =
      flags.dense_arch.empty() ? std::vector<std::int64_t>{512, 256, flags.embedding_dim} : flags.dense_arch;
  model.over_arch = flags.over_arch;
  model.dcn_num_layers = flags.dcn_num_layers;
  model.dcn_low_rank = flags.dcn_low_rank;
  const OptimizerConfig optimizer = MakeOptimizer(flags, flags.optimizer);
  for (const SparseFeature& feature : data.features) {
    model.tables.push_back({.name = "t_" + feature.name,
                            .num_embeddings = feature.rows,
                            .embedding_dim = flags.embedding_dim,
                            .pooling = ParsePoolingType(flags.pooling),
                            .feature_names = {feature.name},
                            .optimizer = optimizer});
    model.features.push_back(feature.name);
  }
  Validate(model);
  return model;
}

TrainerConfig MakeTrainerConfig(const ModelFlags& flags, ModelConfig model, std::uint64_t seed) {
  if (flags.precision != "fp32") Fail("--precision {}: valid: fp32", flags.precision);
  TrainerConfig config;
  config.dense_optimizer =
      MakeOptimizer(flags, flags.dense_optimizer.empty() ? flags.optimizer : flags.dense_optimizer);
  config.kernel = ParseBackwardKernel(flags.kernel);
  config.storage = ParseTableStorage(flags.tables, EagerBytes(model.tables));
  config.bad_ids = ParseBadIds(flags.bad_ids);
  if (flags.reduction_units != 0) config.reduction_units = flags.reduction_units;
  config.seed = seed;
  config.model = std::move(model);
  return config;
}

}  // namespace hotrow::cli

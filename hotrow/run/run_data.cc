#include "hotrow/run/run_data.h"

#include <utility>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/data/criteo_encoder.h"
#include "hotrow/data/presets.h"
#include "hotrow/run/words.h"

namespace hotrow {

std::vector<std::int32_t> BagSizes(const DataConfig& data, std::size_t features, bool of_bench) {
  constexpr std::size_t kMlperfFeatures = 26;
  const bool mlperf = of_bench && features == kMlperfFeatures;
  const std::string sizes = !data.multi_hot.empty() ? data.multi_hot : mlperf ? "mlperf" : "one";
  return ParseMultiHot(sizes, static_cast<std::int64_t>(features));
}

DataSpec ResolveData(RunCommand command, const RunConfig& config) {
  const DataConfig& data = config.data;
  DataSpec spec;
  spec.format = FormatOf(command, data);
  spec.seed = config.common.seed;
  spec.paths = data.files;
  spec.schema = data.schema;
  spec.refuse_bad_ids = data.bad_ids == BadIds::kError;
  spec.shuffle = data.shuffle;
  if (spec.format == DataFormat::kSynthetic) {
    spec.rows = ParseRows(data.cardinality, data.max_rows);
    spec.bag_sizes = BagSizes(data, spec.rows.size());
    spec.ids = data.ids;
    spec.samples = data.samples;
    return spec;
  }
  if (spec.paths.empty()) Fail("--data: missing; --format {} reads files", WordOf(kDataFormats, spec.format));
  if (spec.format == DataFormat::kCriteo) {
    spec.rows = ParseRows(data.cardinality, data.max_rows);
  } else if (!spec.schema) {
    Fail("--schema: missing; --format csv needs a TOML schema, there or in a [data] table of --config");
  }
  return spec;
}

SyntheticConfig ResolveSynthetic(const RunConfig& config) {
  SyntheticConfig synthetic;
  synthetic.rows = ParseRows(config.data.cardinality, config.data.max_rows);
  synthetic.bag_sizes = BagSizes(config.data, synthetic.rows.size());
  synthetic.ids = config.data.ids;
  synthetic.seed = config.common.seed;
  return synthetic;
}

TrainData OpenTrainData(const RunConfig& config, bool pipes) {
  DataSpec spec = ResolveData(kTrain, config);
  spec.pipes = pipes;
  TrainData data;
  data.encoder = MakeEncoder(spec);
  data.source = OpenSource(spec, data.encoder);
  if (config.data.eval_files.empty()) return data;
  if (data.encoder == nullptr) Fail("--eval-data: --format synthetic reads no files");
  DataSpec eval_spec = spec;
  eval_spec.paths = config.data.eval_files;
  eval_spec.shuffle = false;
  eval_spec.pipes = false;
  data.eval_source = OpenSource(eval_spec, data.encoder);
  return data;
}

DataDescription DescribeData(RunCommand command, const RunConfig& config) {
  const DataFormat format = FormatOf(command, config.data);
  if (format == DataFormat::kSynthetic) return SyntheticSource(ResolveSynthetic(config)).description();
  DataDescription data =
      format == DataFormat::kCriteo
          ? CriteoEncoder(ParseRows(config.data.cardinality, config.data.max_rows)).description()
          : MakeEncoder(ResolveData(command, config))->description();
  if (config.data.multi_hot.empty()) return data;
  const std::vector<std::int32_t> sizes = BagSizes(config.data, data.features.size());
  for (std::size_t f = 0; f < sizes.size(); ++f) data.features[f].fixed_size = sizes[f];
  return data;
}

}  // namespace hotrow

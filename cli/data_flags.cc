#include "cli/data_flags.h"

#include "cli/cli11.h"
#include "cli/config_file.h"
#include "hotrow/base/error.h"
#include "hotrow/data/presets.h"
#include "hotrow/files/path_list.h"

namespace hotrow::cli {

void AddPathsFlag(CLI::App& app, const std::string& flag, const std::string& description,
                  std::vector<std::string>& paths) {
  app.add_option_function<std::vector<std::string>>(
         flag, [flag, &paths](const std::vector<std::string>& values) { paths = SplitPaths(flag, values); },
         description + ", a comma-separated list or the flag repeated")
      ->type_name("FILE");
}

void AddDataFlags(CLI::App& app, DataFlags& flags) {
  AddPathsFlag(app, "--data", "Files, read in this order", flags.data);
  app.add_option("--format", flags.format,
                 "criteo, csv or synthetic (csv where there is a schema, else criteo)");
  app.add_option("--schema", flags.schema, "csv: TOML schema (the --config file where it has a [data] table)")
      ->type_name("FILE");
  app.add_option("--cardinality", flags.cardinality,
                 "criteo, synthetic: rows of the tables: tiny, shrunk, canonical, mlperf, or a list")
      ->capture_default_str();
  app.add_option("--max-rows", flags.max_rows, "criteo, synthetic: cap of every table's rows; 0: none")
      ->capture_default_str();
}

void RefuseUnread(const DataSpec& spec, const GivenFlags& given) {
  constexpr FlagReader kData = {"--data", "--format criteo or csv"};
  constexpr FlagReader kSchema = {"--schema", "--format csv"};
  switch (spec.format) {
    case DataFormat::kSynthetic:
      return given.Refuse("--format synthetic", {kData, kSchema});
    case DataFormat::kCriteo:
      return given.Refuse("--format criteo", {kSchema});
    case DataFormat::kCsv:
      return given.Refuse("--format csv", {{"--cardinality", "--format criteo or synthetic"},
                                           {"--max-rows", "--format criteo or synthetic"}});
  }
}

DataSpec MakeDataSpec(const DataFlags& flags, const CommonFlags& common) {
  DataSpec spec;
  spec.schema = flags.schema;
  if (spec.schema.empty() && !common.config.empty() && ConfigHasData(common.config))
    spec.schema = common.config;
  const std::string format = !flags.format.empty() ? flags.format : spec.schema.empty() ? "criteo" : "csv";
  spec.format = ParseDataFormat(format);
  spec.seed = common.seed;
  spec.paths = flags.data;
  if (spec.format != DataFormat::kSynthetic && spec.paths.empty()) {
    Fail("--data: missing; --format {} reads files", format);
  }
  if (spec.format == DataFormat::kCsv && spec.schema.empty()) {
    Fail("--schema: missing; --format csv needs a TOML schema, there or in a [data] table of --config");
  }
  if (spec.format != DataFormat::kCsv) spec.rows = ParseRows(flags.cardinality, flags.max_rows);
  return spec;
}

}  // namespace hotrow::cli

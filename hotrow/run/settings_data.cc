// Settings that say which samples there are.

#include "hotrow/data/synthetic.h"
#include "hotrow/run/settings_parts.h"
#include "hotrow/run/words.h"

namespace hotrow {
namespace {

constexpr unsigned kFiles = Bit(DataFormat::kCriteo) | Bit(DataFormat::kCsv);
constexpr unsigned kSized = Bit(DataFormat::kCriteo) | Bit(DataFormat::kSynthetic);
constexpr unsigned kCsvOnly = Bit(DataFormat::kCsv);
constexpr unsigned kGenerated = Bit(DataFormat::kSynthetic);

const Setting kDataSettings[] = {
    // Data.
    {.name = "data",
     .commands = kTrain | kDataInfo,
     .help = "Files, a comma-separated list or the flag repeated, read in this order",
     .at = Files{&At<&RunConfig::data, &DataConfig::files>},
     .read_by = {.formats = kFiles}},
    {.name = "data",
     .commands = kOfSaved,
     .help = "Files, a comma-separated list or the flag repeated, read in this order",
     .at = Files{&At<&RunConfig::data, &DataConfig::files>}},
    {.name = "data",
     .commands = kOfTables,
     .help = "csv: the training files, whose vocabularies say how large tables are",
     .at = Files{&At<&RunConfig::data, &DataConfig::files>},
     .read_by = {.formats = kFiles}},
    {.name = "format",
     .commands = kTrain,
     .help = "criteo, csv or synthetic (csv where there is a schema, else criteo)",
     .at = ChoiceAt<kDataFormats, &RunConfig::data, &DataConfig::format>()},
    {.name = "format",
     .commands = kDataInfo,
     .help = "criteo or csv (csv where there is a schema, else criteo)",
     .at = ChoiceAt<kFileFormats, &RunConfig::data, &DataConfig::format>()},
    {.name = "format",
     .commands = kOfTables,
     .help = "Whose tables: criteo, csv (where there is a schema or [data]), or synthetic: bench's, the "
             "default",
     .at = ChoiceAt<kDataFormats, &RunConfig::data, &DataConfig::format>()},
    {.name = "schema",
     .commands = kOfData,
     .help = "csv: TOML schema (the --config file where it has a [data] table)",
     .at = File{.at = &At<&RunConfig::data, &DataConfig::schema_file>},
     .read_by = {.formats = kCsvOnly}},
    {.name = "cardinality",
     .commands = kOfData | kBench,
     .help = "criteo, synthetic: rows of the tables: tiny, shrunk, canonical, mlperf, or a list",
     .at = &At<&RunConfig::data, &DataConfig::cardinality>,
     .read_by = {.formats = kSized}},
    {.name = "max-rows",
     .commands = kOfData | kBench,
     .help = "criteo, synthetic: cap of every table's rows; 0: none",
     .at = &At<&RunConfig::data, &DataConfig::max_rows>,
     .read_by = {.formats = kSized}},
    {.name = "eval-data",
     .commands = kTrain,
     .help = "Files to evaluate on, given as those of --data",
     .at = Files{&At<&RunConfig::data, &DataConfig::eval_files>},
     .read_by = {.formats = kFiles}},
    {.name = "shuffle",
     .commands = kTrain,
     .help = "Another order each epoch, encoded in memory; --no-shuffle streams files in their order",
     .at = &At<&RunConfig::data, &DataConfig::shuffle>,
     .read_by = {.formats = kFiles},
     .negated = "no-shuffle"},
    {.name = "samples",
     .commands = kTrain,
     .help = "synthetic: samples an epoch",
     .at = &At<&RunConfig::data, &DataConfig::samples>,
     .read_by = {.formats = kGenerated}},
    {.name = "multi-hot",
     .commands = kOfModel,
     .help = "synthetic: ids a sample of every feature: mlperf, one, or a list (mlperf for 26 tables, else "
             "one)",
     .at = &At<&RunConfig::data, &DataConfig::multi_hot>,
     .read_by = {.formats = kGenerated}},
    {.name = "multi-hot",
     .commands = kPlanMake | kPlanShow,
     .help = "Ids a sample of every table: mlperf, one, or a list (mlperf for 26 tables of bench, else one)",
     .at = &At<&RunConfig::data, &DataConfig::multi_hot>},
    {.name = "ids",
     .commands = kTrain | kBench,
     .help = "synthetic: uniform or zipf:ALPHA",
     .at = Formed{.set = [](RunConfig& c, const std::string& t) { c.data.ids = ParseIdDistribution(t); },
                  .get = [](RunConfig& c) { return ToString(c.data.ids); }},
     .read_by = {.formats = kGenerated}},
    {.name = "bad-ids",
     .commands = kOfModel | kOfSaved,
     .help = "An id outside its table: error, skip or wrap",
     .at = ChoiceAt<kBadIds, &RunConfig::data, &DataConfig::bad_ids>()},
};

}  // namespace

std::span<const Setting> DataSettings() { return kDataSettings; }

}  // namespace hotrow

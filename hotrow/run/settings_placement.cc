// Settings that say how and over which ranks it is done.

#include "hotrow/plan/sharding_plan.h"
#include "hotrow/run/settings_parts.h"
#include "hotrow/run/words.h"

namespace hotrow {
namespace {

const Setting kPlacementSettings[] = {
    // How it is done.
    {.name = "kernel",
     .commands = kOfModel,
     .help = "Embedding backward: fused (touched rows) or unfused (whole tables)",
     .at = ChoiceAt<kBackwardKernels, &RunConfig::placement, &PlacementConfig::kernel>()},
    {.name = "tables",
     .commands = kOfModel,
     .help = "eager (all rows in memory), lazy (rows when trained) or auto",
     .at = ChoiceAt<kStorageChoices, &RunConfig::placement, &PlacementConfig::storage>()},
    {.name = "precision",
     .commands = kOfModel,
     .help = "Of the tower's GEMMs: fp32",
     .at = ChoiceAt<kPrecisions, &RunConfig::tower, &TowerConfig::precision>()},
    {.name = "reduction-units",
     .commands = kOfModel | kPlanValidate,
     .help = "Parts that a global batch is cut into for reproducible sums, the ranks times a power of two; "
             "0: 8, or as many more as the ranks need",
     .at = &At<&RunConfig::placement, &PlacementConfig::reduction_units>},
    {.name = "ranks",
     .commands = kOfModel,
     .help = "Ranks, as threads of this process; under mpirun its processes are they",
     .at = &At<&RunConfig::placement, &PlacementConfig::ranks>,
     .least = 1,
     .most = 1024},
    {.name = "ranks",
     .commands = kPlanMake,
     .help = "Ranks to plan for",
     .at = &At<&RunConfig::placement, &PlacementConfig::ranks>,
     .least = 1,
     .most = kMaxPlanWorld},
    {.name = "ranks",
     .commands = kPlanValidate,
     .help = "Ranks it must be for; 0: the plan's",
     .at = &At<&RunConfig::placement, &PlacementConfig::ranks>,
     .least = 0,
     .most = kMaxPlanWorld},
    {.name = "sharding",
     .commands = kOfModel,
     .help =
         "column_wise, table_wise, row_wise, grid, data_parallel, auto (a simple balance), or a plan file",
     .at = &At<&RunConfig::placement, &PlacementConfig::sharding>,
     .read_by = {.parts = kTablesPart}},
    {.name = "sharding",
     .commands = kPlanMake,
     .help = "column_wise, table_wise, row_wise, grid, data_parallel, or auto (a simple balance)",
     .at = &At<&RunConfig::placement, &PlacementConfig::sharding>},
    {.name = "ranks-per-group",
     .commands = kPlanMake,
     .help = "grid: ranks a table's rows are spread over, as many as a host has; 0: about the square root",
     .at = &At<&RunConfig::placement, &PlacementConfig::ranks_per_group>,
     .least = 0,
     .most = kMaxPlanWorld},
    {.name = "recat-mode",
     .commands = kOfModel,
     .help = "Who brings arrived ids into the lookup's order: none (it reads them as they arrived), cpu, sc "
             "or tc",
     .at = ChoiceAt<kRecatModes, &RunConfig::placement, &PlacementConfig::dist, &DistOptions::recat>(),
     .read_by = {.parts = kRecatPart}},
    {.name = "id-bytes",
     .commands = kOfModel,
     .help = "Bytes of an id on the wire: auto (4 where every table has fewer than 2^31 rows), 4 or 8",
     .at = ChoiceAt<kIdBytes, &RunConfig::placement, &PlacementConfig::dist, &DistOptions::id_bytes>(),
     .read_by = {.parts = kIdsPart}},
    {.name = "output-permute",
     .commands = kOfModel,
     .help = "Who orders arrived pooled rows: none (they are written in place) or cpu (through a buffer)",
     .at = ChoiceAt<kOutputPermutes, &RunConfig::placement, &PlacementConfig::dist,
                    &DistOptions::output_permute>(),
     .read_by = {.parts = kTablesPart}},
    {.name = "pipeline",
     .commands = kOfModel,
     .help = "on: the next batch's ids are exchanged during a step; off; changes no bit",
     .at = ChoiceAt<kOnOff, &RunConfig::loop, &LoopConfig::pipeline>(),
     .read_by = {.parts = kStepPart}},
    {.name = "verify-every",
     .commands = kOfModel,
     .help = "Steps between checks that ranks hold the same parameters; 0: at the start only",
     .at = &At<&RunConfig::placement, &PlacementConfig::verify_every>,
     .least = 0,
     .most = kMany * 1024,
     .read_by = {.parts = kStepPart}},
    {.name = "profile-dir",
     .commands = kOfModel,
     .help = "Write every rank's spans to DIR/trace.json, for Perfetto or chrome://tracing",
     .at =
         File{.at = &At<&RunConfig::files, &FilesConfig::profile_dir>, .writes = true, .is_directory = true},
     .read_by = {.parts = kStepPart}},
};

}  // namespace

std::span<const Setting> PlacementSettings() { return kPlacementSettings; }

}  // namespace hotrow

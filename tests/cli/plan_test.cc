// `hotrow plan make`, `show` and `validate` as a user runs them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

ProgramResult Plan(std::vector<std::string> args) {
  args.insert(args.begin(), "plan");
  return RunHotrow(args);
}

// Exit 2, one line "error: …" on stderr, nothing on stdout.
std::string MistakeOf(std::vector<std::string> args) {
  const ProgramResult result = Plan(std::move(args));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, StartsWith("error: "));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1);
  return result.err;
}

TEST(PlanCommand, EveryKindIsMadeShownAndValid) {
  const TemporaryDirectory directory;
  for (const char* kind : {"column_wise", "table_wise", "row_wise", "grid", "data_parallel", "auto"}) {
    const std::string file = directory.File(kind);
    const ProgramResult made =
        Plan({"make", "--sharding", kind, "--ranks", "8", "--cardinality", "shrunk", "--out", file});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_THAT(made.out, StartsWith("sharding plan: 8 ranks, 26 tables, "));
    const ProgramResult shown = Plan({"show", file});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_EQ(shown.out, made.out) << kind;
    const ProgramResult valid =
        Plan({"validate", file, "--ranks", "8", "--cardinality", "shrunk", "--reduction-units", "8"});
    EXPECT_EQ(valid.exit_code, 0) << valid.err;
    EXPECT_THAT(valid.out, HasSubstr("valid: 26 tables over 8 ranks, for this model; "));
  }
  EXPECT_EQ(directory.List().size(), 6U);
}

// A plan for the model's own tables is one that train takes.
TEST(PlanCommand, MadeForTheTablesThatTrainHas) {
  const TemporaryDirectory directory;
  const std::string schema = directory.Write(
      "s.toml", "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\n[[data.sparse]]\ncolumn = \"v\"\n");
  const std::string data = directory.Write("d.csv", "u,v,y\na,p,1\nb,q,0\nc,p,1\nc,q,0\n");
  const std::string log = directory.File("log.tsv");
  ASSERT_EQ(RunHotrow({"data", "generate", "--out", log, "--samples", "20"}).exit_code, 0);
  const std::string plan = directory.File("plan.json");
  const std::vector<std::vector<std::string>> models = {
      {"--schema", schema, "--data", data},
      {"--format", "criteo", "--cardinality", "mlperf", "--max-rows", "200", "--data", log}};
  for (const std::vector<std::string>& model : models) {
    std::vector<std::string> make = {"make", "--ranks", "2", "--sharding", "auto", "--embedding-dim",
                                     "8",    "--out",   plan};
    make.insert(make.end(), model.begin(), model.end());
    const ProgramResult made = Plan(make);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(Plan({"show", plan}).out, made.out);
    std::vector<std::string> train = {"train", "--ranks",         "2", "--sharding",   plan, "--model",
                                      "dlrm",  "--embedding-dim", "8", "--dense-arch", "8",  "--over-arch",
                                      "1",     "--batch-size",    "4", "--max-steps",  "1"};
    train.insert(train.end(), model.begin(), model.end());
    const ProgramResult trained = RunHotrow(train);
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
  }
}

// One file with [data] and [model] is all that train needs beside the data; so it is for a plan.
TEST(PlanCommand, AConfigWithDataIsASchemaToo) {
  const TemporaryDirectory directory;
  const std::string config = directory.Write(
      "c.toml",
      "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\n[[data.sparse]]\ncolumn = \"v\"\n"
      "[model]\nembedding_dim = 8\n");
  const std::string data = directory.Write("d.csv", "u,v,y\na,p,1\nb,q,0\nc,p,1\nc,q,0\n");
  const std::string plan = directory.File("plan.json");
  const std::vector<std::string> make = {"make",  "--ranks", "2",        "--sharding", "table_wise",
                                         "--out", plan,      "--config", config};
  const auto with = [&](std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  EXPECT_THAT(MistakeOf(make), HasSubstr("--data: missing; --format csv reads files"));
  const ProgramResult made = Plan(with(make, {"--data", data}));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith("sharding plan: 2 ranks, 2 tables, "));
  EXPECT_THAT(made.out, HasSubstr("t_u"));
  const ProgramResult valid = Plan({"validate", plan, "--config", config, "--data", data});
  EXPECT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("valid: 2 tables over 2 ranks, for this model"));
  EXPECT_THAT(MistakeOf({"validate", plan, "--config", config}), HasSubstr("--data: missing"));
  // Bench's tables are still to be had, and have no use for the data.
  EXPECT_THAT(Plan(with(make, {"--format", "synthetic"})).out, HasSubstr("26 tables"));
  EXPECT_THAT(MistakeOf(with(make, {"--format", "synthetic", "--data", data})),
              StartsWith("error: --data: "));
  EXPECT_THAT(MistakeOf({"make", "--data", data}), StartsWith("error: --data: "));
}

TEST(PlanCommand, JsonHasLoadsAndThePlanItself) {
  const ProgramResult result =
      Plan({"make", "--ranks", "2", "--cardinality", "100,50", "--embedding-dim", "8", "--multi-hot", "3,1",
            "--per-chip-batch", "10", "--optimizer", "rowwise_adagrad", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["command"], "plan");
  EXPECT_EQ(json["action"], "make");
  EXPECT_EQ(json["world"], 2);
  EXPECT_EQ(json["global_batch"], 20);
  EXPECT_EQ(json["valid"], true);
  EXPECT_EQ(json["promises_bits"], true);
  for (const Json& rank : json["ranks"]) {
    EXPECT_EQ(rank["weight_bytes"], 150 * 4 * 4);
    EXPECT_EQ(rank["state_bytes"], 150 * 4);
    EXPECT_EQ(rank["ids_per_step"], 80);
  }
  EXPECT_EQ(json["plan"]["tables"][1]["shards"][1]["first_column"], 4);
  const TemporaryDirectory directory;
  const std::string file = directory.Write("plan.json", json["plan"].dump());
  EXPECT_EQ(Plan({"validate", "--plan", file}).exit_code, 0);
}

TEST(PlanCommand, ShowSaysWhatIsWrongAndValidateFails) {
  const TemporaryDirectory directory;
  const std::string file = directory.File("plan.json");
  ASSERT_EQ(Plan({"make", "--cardinality", "9", "--out", file}).exit_code, 0);
  const ProgramResult good = Plan({"show", file, "--json", "-"});
  Json plan = Json::parse(good.out)["plan"];
  plan["tables"][0]["shards"][0]["rank"] = 1;
  directory.Write("plan.json", plan.dump());
  const ProgramResult shown = Plan({"show", file});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("not valid: plan: table 't_f0', rank 1: not a rank of a world of 1"));
  const ProgramResult json = Plan({"show", file, "--json", "-"});
  EXPECT_EQ(Json::parse(json.out)["valid"], false);
  EXPECT_THAT(MistakeOf({"validate", file}), HasSubstr("plan.json: table 't_f0', rank 1: not a rank"));
  // A world that is none has no batch.
  EXPECT_EQ(Json::parse(json.out)["global_batch"], 4096);
  plan["world"] = 0;
  directory.Write("plan.json", plan.dump());
  const Json none = Json::parse(Plan({"show", file, "--json", "-"}).out);
  EXPECT_TRUE(none["global_batch"].is_null());
  EXPECT_TRUE(none["ranks"][0]["ids_per_step"].is_null());
}

TEST(PlanCommand, MistakesAreToldOnceAndWriteNothing) {
  const TemporaryDirectory directory;
  const std::string file = directory.File("plan.json");
  EXPECT_THAT(MistakeOf({"make", "--ranks", "3", "--out", file}),
              HasSubstr("Ranks that fit 128 columns: 1, 2, 4"));
  EXPECT_THAT(MistakeOf({"make", "--sharding", "diagonal", "--out", file}),
              HasSubstr("is none of table_wise"));
  EXPECT_THAT(MistakeOf({"make", "--ranks", "0"}), HasSubstr("--ranks"));
  EXPECT_THAT(MistakeOf({"make", "--ranks-per-group", "2"}), HasSubstr("only --sharding grid has groups"));
  EXPECT_THAT(MistakeOf({"make", "--multi-hot", "1,2"}), HasSubstr("there are 26 features"));
  EXPECT_THAT(MistakeOf({"show"}), HasSubstr("--plan"));
  EXPECT_THAT(MistakeOf({"show", file}), HasSubstr("plan.json: cannot open"));
  EXPECT_THAT(directory.List(), IsEmpty());
  ASSERT_EQ(Plan({"make", "--ranks", "4", "--out", file}).exit_code, 0);
  EXPECT_THAT(MistakeOf({"validate", file, "--ranks", "8"}),
              HasSubstr("made for a world of 4 ranks, but this one has 8"));
  EXPECT_THAT(MistakeOf({"validate", file, "--cardinality", "shrunk"}),
              HasSubstr("made for another model: table 't_f0'"));
  for (const char* units : {"6", "12", "2"}) {
    EXPECT_THAT(MistakeOf({"validate", file, "--reduction-units", units}),
                HasSubstr(std::string("4 ranks cannot share ") + units + "; valid: 4, 8, 16"));
  }
  directory.Write("plan.json", "{}");
  EXPECT_THAT(MistakeOf({"validate", file}), HasSubstr("not a sharding plan"));
  EXPECT_THAT(directory.List(), ElementsAre("plan.json"));
}

// Whatever it says is what `bench` and `train` do: they refuse the units that it refuses.
TEST(PlanCommand, ValidateSaysWhoseBitsAWorldHas) {
  const TemporaryDirectory directory;
  const std::string file = directory.File("plan.json");
  const auto validate = [&](const char* sharding, const char* ranks, std::vector<std::string> more = {}) {
    EXPECT_EQ(Plan({"make", "--sharding", sharding, "--ranks", ranks, "--out", file}).exit_code, 0);
    more.insert(more.begin(), {"validate", file});
    const ProgramResult text = Plan(more);
    EXPECT_EQ(text.exit_code, 0) << text.err;
    more.insert(more.end(), {"--json", "-"});
    return std::pair(text.out, Json::parse(Plan(more).out));
  };
  const auto [four, four_json] = validate("auto", "4");
  EXPECT_THAT(four, HasSubstr("; the same bits as on one rank\n"));
  EXPECT_EQ(four_json["bits_of_one_rank"], true);
  EXPECT_EQ(four_json["reduction_units"], 8);
  const auto [sixteen, sixteen_json] = validate("auto", "16");
  EXPECT_THAT(sixteen, HasSubstr("the same bits as on one rank with --reduction-units 16\n"));
  EXPECT_EQ(sixteen_json["bits_of_one_rank"], true);
  const auto [three, three_json] = validate("auto", "3");
  EXPECT_THAT(three, HasSubstr("every world that can share its 12 reduction units, as one rank cannot\n"));
  EXPECT_EQ(three_json["promises_bits"], true);
  EXPECT_EQ(three_json["bits_of_one_rank"], false);
  EXPECT_THAT(validate("auto", "6", {"--reduction-units", "6"}).first, HasSubstr("share its 6 reduction"));
  const auto [rows, rows_json] = validate("row_wise", "4");
  EXPECT_THAT(rows, HasSubstr("to rounding, not to the bit"));
  EXPECT_EQ(rows_json["bits_of_one_rank"], false);
}

TEST(PlanCommand, TakesItsFlagsFromAFile) {
  const TemporaryDirectory directory;
  const std::string config =
      directory.Write("c.toml", "ranks = 4\n[model]\nembedding_dim = 16\ncardinality = [5, 6]\n");
  const ProgramResult result = Plan({"make", "--config", config});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("sharding plan: 4 ranks, 2 tables, "));
}

}  // namespace
}  // namespace hotrow

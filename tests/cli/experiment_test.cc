// `hotrow experiment`: which configurations a file means, what lands in the log, and that nothing lands
// there when a run fails or is interrupted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "hotrow/comm/mpi_session.h"
#include "hotrow/measure/paired_ratio.h"
#include "tests/cli/program.h"
#include "tests/comm/run_under_mpi.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// A bench of milliseconds.
const char* const kTiny =
    "[flags]\ncardinality = [100, 7, 3000, 1]\nmulti_hot = [3, 1, 20, 2]\nembedding-dim = 16\ndense-arch = "
    "[24, 16]\n"
    "over-arch = [20, 12, 1]\ndcn-low-rank = 6\nper-chip-batch = 100\nsteps = 2\nwarmup = 1\n";
// Of the parts step and sparse, whose limits take longer than they do.
const char* const kLimitsOff = "limits = \"off\"\n";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST(Experiment, WritesASectionWithVerdictsPhasesBitsAndCommands) {
  const TemporaryDirectory directory;
  const std::string file =
      directory.Write("e.toml", std::string("name = \"kernels\"\nquestion = \"Which | one?\"\n"
                                            "rounds = 3\nbaseline = \"unfused\"\n") +
                                    kTiny + kLimitsOff +
                                    "[[configuration]]\nname = \"fused\"\n"
                                    "[[configuration]]\nname = \"unfused\"\nflags = { kernel = "
                                    "\"unfused\", steps = 3, warmup = 0 }\n"
                                    "[[configuration]]\nname = \"seed\"\nflags = { seed = 1 }\n");
  const std::string log =
      directory.Write("log.md", "# Log\n\nAbout.\n\n## 2001-02-03: an old one\n\nText.\n");
  const ProgramResult result =
      RunHotrow({"experiment", file, "--log", log, "--json", directory.File("r.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("round 3/3, 3/3: seed: ms_per_step.rank0_median "));
  const std::string text = FileText(log);
  EXPECT_THAT(text, HasSubstr(result.out.substr(0, result.out.size() - 1)))
      << "what is printed is what is logged";
  EXPECT_THAT(text, testing::StartsWith("# Log\n\nAbout.\n\n## 20"));
  EXPECT_THAT(text, testing::EndsWith("```\n\n## 2001-02-03: an old one\n\nText.\n")) << "newest first";
  for (const char* part :
       {": kernels\n\nWhich \\| one?\n", "cores, ", "e.toml`: 3 rounds", "| unfused | ",
        "% from round to round | baseline |", "| configuration | input_dist | lookup | output_dist | dense |",
        "\nhotrow bench --cardinality 100,7,3000,1 --multi-hot 3,1,20,2 ",
        " --steps 3 --warmup 0 --limits off --kernel unfused\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }

  const Json json = Json::parse(FileText(directory.File("r.json")));
  EXPECT_EQ(json["metric"], "ms_per_step.rank0_median");
  const Json& all = json["configurations"];
  ASSERT_EQ(all.size(), 3U);
  for (const Json& configuration : all) {
    EXPECT_EQ(configuration["values"].size(), 3U);
    EXPECT_EQ(configuration["baseline"], "unfused");
    EXPECT_GT(configuration["phases_ms"]["dense"], 0);
    const std::vector<double> values = configuration["values"];
    const PairedRatio ratio = CompareRounds(values, all[1]["values"].get<std::vector<double>>());
    EXPECT_EQ(configuration["ratio"]["median"], ratio.median);
    if (configuration["name"] == "unfused") continue;
    EXPECT_EQ(configuration["verdict"], ToString(ratio.verdict));
  }
  EXPECT_EQ(all[0]["bits"], "same bits") << "three steps either way";
  EXPECT_EQ(all[1]["verdict"], "baseline");
  EXPECT_EQ(all[2]["bits"], "other bits");
}

TEST(Experiment, SweepsEveryCombinationAgainstItsOwnBaseline) {
  const TemporaryDirectory directory;
  const std::string swept = directory.Write(
      "s.toml",
      std::string("name = \"s\"\nbaseline = { seed = 2 }\n") + kTiny + kLimitsOff +
          "part = \"sparse\"\n[sweep]\nper_chip_batch = [10, 20]\nseed = [1, 2]\nover-arch = [[8, 1]]\n");
  const ProgramResult dry = RunHotrow({"experiment", swept, "--dry-run"});
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  const std::vector<std::string> lines = Lines(dry.out);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1], HasSubstr("--over-arch 8,1 --dcn-low-rank 6 --per-chip-batch 10 "));
  EXPECT_THAT(lines[1], HasSubstr("--part sparse --seed 2"));
  EXPECT_THAT(lines[2], HasSubstr("--per-chip-batch 20 "));
  EXPECT_THAT(lines[2], HasSubstr("--seed 1"));
  EXPECT_EQ(directory.List(), std::vector<std::string>{"s.toml"}) << "a dry run writes nothing";

  const ProgramResult result =
      RunHotrow({"experiment", swept, "--rounds", "1", "--log", directory.File("new.md"), "--quiet", "--json",
                 directory.File("r.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out + result.err, "");
  const Json json = Json::parse(FileText(directory.File("r.json")));
  EXPECT_EQ(json["metric"], "step_ms");
  EXPECT_EQ(json["rounds"], 1);
  EXPECT_THAT(FileText(directory.File("new.md")),
              HasSubstr("`hotrow experiment " + swept + " --rounds 1`: 1 rounds"));
  const char* const wanted[] = {"per-chip-batch 10, seed 2, over-arch 8,1",
                                "per-chip-batch 20, seed 2, over-arch 8,1"};
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(json["configurations"][c]["baseline"], wanted[c / 2]) << c;
  EXPECT_EQ(json["configurations"][0]["verdict"], "too few rounds");
  EXPECT_EQ(json["configurations"][0]["bits"], nullptr) << "the sparse part has no losses";
  EXPECT_THAT(FileText(directory.File("new.md")), HasSubstr("# Experiment log\n\n## 20"))
      << "--log makes the file";
}

TEST(Experiment, ConfigurationsAtEveryPointOfASweep) {
  const TemporaryDirectory directory;
  const std::string both = directory.Write(
      "b.toml", std::string("name = \"b\"\nmetric = \"phases_ms.lookup\"\nrounds = 1\n") + kTiny +
                    kLimitsOff +
                    "part = \"sparse\"\n[sweep]\nper-chip-batch = [16, 32]\n[[configuration]]\nname = \"a\"\n"
                    "[[configuration]]\nname = \"b\"\nflags = { reduction-units = 2 }\n");
  const ProgramResult result =
      RunHotrow({"experiment", both, "--log", directory.File("log.md"), "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json all = Json::parse(result.out)["configurations"];
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0]["name"], "a, per-chip-batch 16");
  EXPECT_EQ(all[3]["name"], "b, per-chip-batch 32");
  EXPECT_EQ(all[3]["baseline"], "a, per-chip-batch 32");
  EXPECT_THAT(all[3]["command"], HasSubstr("--reduction-units 2"));
}

TEST(Experiment, ShippedFilesAreExperiments) {
  for (const auto& [name, configurations] :
       {std::pair("kernel_rows", 6U), std::pair("one_rank_of_the_original", 6U), std::pair("recat", 8U),
        std::pair("ranks", 4U), std::pair("sharding", 4U)}) {
    const ProgramResult result = RunHotrow(
        {"experiment", std::string(HOTROW_TEST_SOURCE_DIR) + "/../bench/experiments/" + name + ".toml",
         "--dry-run"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(Lines(result.out).size(), configurations) << name;
  }
}

TEST(Experiment, RunsUnderMpirun) {
  if (const char* reason = WhyNoMpi()) GTEST_SKIP() << reason;
  const TemporaryDirectory directory;
  const std::string file = directory.Write(
      "m.toml", std::string("name = \"transports\"\nrounds = 1\n") + kTiny +
                    "part = \"alltoall\"\n[[configuration]]\nname = \"threads\"\nflags = { ranks = 2 }\n"
                    "[[configuration]]\nname = \"mpi\"\nmpi = 2\n");
  const ProgramResult result =
      RunHotrow({"experiment", file, "--log", directory.File("log.md"), "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["metric"], "ms");
  EXPECT_THAT(json["configurations"][1]["command"],
              testing::StartsWith("mpirun -n 2 --oversubscribe hotrow bench "));
}

class ExperimentMistakes : public testing::Test {
 protected:
  void Expect(const std::string& text, const std::vector<std::string>& parts, int exit_code = 2) {
    const std::string file = directory_.Write("e.toml", text);
    const ProgramResult result = RunHotrow({"experiment", file, "--log", directory_.File("log.md")});
    EXPECT_EQ(result.exit_code, exit_code) << text << result.err;
    EXPECT_THAT(result.err, HasSubstr("error: "));
    EXPECT_EQ(result.err.find("error: "), result.err.rfind("error: ")) << "said once: " << result.err;
    for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(directory_.List(), std::vector<std::string>{"e.toml"}) << "nothing written";
  }

  const TemporaryDirectory directory_;
  const std::string head_ = std::string("name = \"e\"\nrounds = 1\n") + kTiny;  // of any part
  const std::string pair_ = "[[configuration]]\nname = \"a\"\n[[configuration]]\nname = \"b\"\n";
};

TEST_F(ExperimentMistakes, OfTheFileNameTheLine) {
  Expect("name = \"e\"\n\nrouns = 3\n" + pair_, {"e.toml:3", "rouns", "rounds"});
  Expect("name = \"e\"\nrounds = 0\n" + pair_, {"e.toml:2", "rounds", "1 to 1000"});
  Expect("name = 3\n" + pair_, {"e.toml:1", "name"});
  Expect(pair_, {"a name"});
  Expect(head_, {"nothing to compare"});
  Expect(head_ + "[sweep]\nseed = 3\n", {"seed", "list"});
  Expect("baseline = \"c\"\n" + head_ + pair_, {"e.toml:1", "\"c\"", "a, b"});
  Expect("baseline = { seed = 4 }\n" + head_ + "[sweep]\nseed = [1, 2]\n",
         {"e.toml:1", "baseline", "[sweep]"});
  Expect(head_ + "[[configuration]]\nname = \"a\"\n[[configuration]]\nname = \"a\"\n", {"two", "\"a\""});
  Expect(head_ + "json = \"x\"\n" + pair_, {"json"});
  Expect("name = [\n", {"e.toml:"});
}

TEST_F(ExperimentMistakes, OfAConfigurationNameIt) {
  Expect(head_ + pair_ + "flags = { kernell = \"fused\" }\n", {"configuration \"b\"", "kernell"});
  Expect(head_ + pair_ + "flags = { steps = 0 }\n", {"configuration \"b\"", "--steps"});
  Expect(head_ + pair_ + "flags = { kernel = \"fusd\" }\n", {"configuration \"b\"", "fusd", "unfused"});
  Expect("metric = \"ms_per_step.median\"\n" + head_ + kLimitsOff + pair_,
         {"ms_per_step.median", "ms_per_step.rank0_median"});
  Expect(head_ + "part = \"recat\"\n" + pair_, {"configuration \"a\"", "limits.copy_ms"});
  Expect("metric = \"bytes.recat\"\n" + head_ + "part = \"recat\"\n" + pair_,
         {"baseline \"a\"", "bytes.recat is 0"});
}

// Before they are multiplied out, which would take all memory. That these flags are none is seen after.
TEST_F(ExperimentMistakes, MoreConfigurationsThanCanBeMeasured) {
  std::string values = "[0";
  for (int v = 1; v < 26; ++v) values += "," + std::to_string(v);
  values += "]\n";
  std::string wide = "[sweep]\n";
  for (int flag = 0; flag < 40; ++flag) wide += "no" + std::to_string(flag) + " = " + values;
  Expect(head_ + wide, {"e.toml:", "no2", "more than 1000 configurations"});
  std::string many;
  for (int c = 0; c < 40; ++c) many += "[[configuration]]\nname = \"" + std::to_string(c) + "\"\n";
  Expect(head_ + many + "[sweep]\nnone = " + values, {"none", "more than 1000 configurations"});
  Expect(head_ + many + "[sweep]\nnone = [1, 2]\n", {"none", "configuration \"0, none 1\""});
  std::string all;
  for (int times = 0; times < 26; ++times) all += many;
  Expect(head_ + all, {"configuration: 1040 of them"});
  std::string flags = "[sweep]\n";
  for (int flag = 0; flag < 300; ++flag) flags += "no" + std::to_string(flag) + " = [0]\n";
  Expect(head_ + flags, {"300 flags", "at most 200"});
}

TEST_F(ExperimentMistakes, OfTheTargetsAreFoundBeforeAnythingRuns) {
  const std::string file = directory_.Write("e.toml", head_ + pair_);
  for (const auto& [args, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "docs/EXPERIMENT_LOG.md"},
           {{"--log", "/no/such/directory/log.md"}, "/no/such/directory"},
           {{"--log", file}, "--log"},
           {{"--log", "/dev/null"}, "--log /dev/null: is not a file"},
           {{"--log", "/dev/full"}, "--log /dev/full: is not a file"},
           {{"--log", "/proc/self/fd"}, "is a directory"},
           {{"--log", directory_.File("x"), "--json", directory_.File("x")}, "--json"}}) {
    std::vector<std::string> all = {"experiment", file};
    all.insert(all.end(), args.begin(), args.end());
    const ProgramResult result = RunHotrow(all);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_THAT(result.err, Not(HasSubstr("round 1")));
  }
  EXPECT_EQ(directory_.List(), std::vector<std::string>{"e.toml"});
}

TEST(Experiment, AnInterruptStopsTheChildAndWritesNothing) {
  const TemporaryDirectory directory;
  const std::string file =
      directory.Write("long.toml", std::string("name = \"long\"\n") + kTiny + kLimitsOff +
                                       "[[configuration]]\nname = \"short\"\n"
                                       "[[configuration]]\nname = \"long\"\nflags = { steps = 100000000 }\n");
  const std::string log = directory.File("log.md");
  int progress[2];
  ASSERT_EQ(pipe(progress), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dup2(progress[1], 2);
    close(progress[0]);
    execl(HOTROW_TEST_BINARY, "hotrow", "experiment", file.c_str(), "--log", log.c_str(), nullptr);
    _exit(127);
  }
  close(progress[1]);
  std::string said;
  for (char c = 0; said.find('\n') == std::string::npos && read(progress[0], &c, 1) == 1;) said += c;
  EXPECT_THAT(said, HasSubstr("round 1/5, 1/2: short"));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the long one is under way
  kill(child, SIGINT);
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  // The pipe ends when all that had it open are gone, the child's child too.
  for (char c = 0; read(progress[0], &c, 1) == 1;) said += c;
  close(progress[0]);
  EXPECT_THAT(said, HasSubstr("interrupted: nothing was written"));
  EXPECT_EQ(directory.List(), std::vector<std::string>{"long.toml"});
}

}  // namespace
}  // namespace hotrow

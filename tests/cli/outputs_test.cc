// What commands write: checked before the work, whole or not at all, never over an input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "tests/cli/small_model.h"

namespace hotrow {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Outputs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { small_ = std::make_unique<SmallModel>(); }
  static void TearDownTestSuite() { small_.reset(); }
  static std::vector<std::string> TrainArgs(const std::vector<std::string>& more) {
    std::vector<std::string> args = {"train",        "--data", small_->data(), "--schema", small_->schema(),
                                     "--batch-size", "8"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static std::unique_ptr<SmallModel> small_;
};
std::unique_ptr<SmallModel> Outputs::small_;

TEST_F(Outputs, AreNoInputs) {
  const std::string model = small_->model();
  const std::string data = small_->data();
  const std::string schema = small_->schema();
  const std::vector<std::string> before = {FileText(model), FileText(data), FileText(schema)};
  ExpectMistake(small_->Args("eval", {"--json", model}), {"--json " + model, "file of --model"});
  ExpectMistake(small_->Args("eval", {"--json", data}), {"--json " + data, "file of --data"});
  ExpectMistake(small_->Args("predict", {"--out", data}), {"--out " + data, "file of --data"});
  ExpectMistake(small_->Args("predict", {"--dump-inputs", model}), {"--dump-inputs " + model, "--model"});
  ExpectMistake(TrainArgs({"--save", data}), {"--save " + data, "file of --data"});
  ExpectMistake(TrainArgs({"--save", schema}), {"--save " + schema, "file of --schema"});
  ExpectMistake(TrainArgs({"--eval-data", model, "--json", model}), {"--json " + model, "--eval-data"});
  ExpectMistake({"data", "info", "--data", data, "--schema", schema, "--json", schema},
                {"--json " + schema, "file of --schema"});
  ExpectMistake({"plan", "show", "--plan", data, "--json", data}, {"--json " + data, "file of --plan"});
  EXPECT_EQ(before, (std::vector<std::string>{FileText(model), FileText(data), FileText(schema)}));
}

TEST_F(Outputs, AreNoStreamsWhereTheyAreWholeOrNotThere) {
  ExpectMistake(TrainArgs({"--save", "-"}), {"--save -: ", "name a file"});
  ExpectMistake(small_->Args("predict", {"--dump-inputs", "-"}), {"--dump-inputs -: ", "name a file"});
  ExpectMistake({"data", "generate", "--out", "-"}, {"--out -: ", "name a file"});
  ExpectMistake({"plan", "make", "--out", "-"}, {"--out -: ", "name a file"});
}

TEST_F(Outputs, AreNoInputsByAnotherNameEither) {
  const TemporaryDirectory directory;
  fs::create_symlink(small_->data(), directory.File("link.csv"));
  fs::create_hard_link(small_->model(), small_->directory().File("hard.safetensors"));
  const std::string roundabout = small_->directory().path() + "/../" +
                                 fs::path(small_->directory().path()).filename().string() + "/data.csv";
  ExpectMistake(small_->Args("predict", {"--out", directory.File("link.csv")}), {"file of --data"});
  ExpectMistake(small_->Args("predict", {"--out", small_->directory().File("hard.safetensors")}),
                {"file of --model"});
  ExpectMistake(small_->Args("predict", {"--out", roundabout}), {"file of --data"});
}

TEST_F(Outputs, AreNotOneAnother) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("new");
  fs::create_symlink("new", directory.File("link"));
  const std::string link = directory.File("link");
  ExpectMistake(small_->Args("predict", {"--out", path, "--json", path}),
                {"--json " + path, "file of --out"});
  ExpectMistake(small_->Args("predict", {"--out", path, "--dump-inputs", link}), {"file of --out"});
  ExpectMistake(TrainArgs({"--save", path, "--json", path}), {"--json " + path, "file of --save"});
  ExpectMistake({"data", "generate", "--out", path, "--json", path}, {"--json " + path, "file of --out"});
  ExpectMistake({"plan", "make", "--out", path, "--json", path}, {"--json " + path, "file of --out"});
  EXPECT_THAT(directory.List(), ElementsAre("link"));
}

TEST_F(Outputs, NeedAPlace) {
  const std::string folder = small_->directory().path();
  for (const char* flag : {"--out", "--dump-inputs", "--json"}) {
    ExpectMistake(small_->Args("predict", {flag, folder}), {flag, folder, "is a directory"});
    ExpectMistake(small_->Args("predict", {flag, folder + "/none/f"}),
                  {flag, "no directory " + folder + "/none"});
    ExpectMistake(small_->Args("predict", {flag, small_->data() + "/f"}), {flag, "no directory"});
  }
  const TemporaryDirectory directory;
  ExpectMistake(TrainArgs({"--save", directory.File(std::string(300, 'm'))}),
                {"--save " + directory.path(), "cannot write: File name too long"});
  fs::create_symlink("/no/such/place", directory.File("link"));
  ExpectMistake(small_->Args("predict", {"--out", directory.File("link")}),
                {"--out", "no directory /no/such"});
  ExpectMistake(small_->Args("predict", {"--out", ""}), {"--out: the name of a file is empty"});
  ExpectMistake(small_->Args("predict", {"--json", "-"}), {"--json -: stdout has the predictions already"});
  // Where even root cannot make a file, the first write says so.
  ExpectMistake(small_->Args("predict", {"--out", "/proc/predictions"}), {"/proc/predictions: cannot write"});
}

// Before any training: nothing is saved, and nothing else is written.
TEST_F(Outputs, ATraceNeedsAPlaceToo) {
  const TemporaryDirectory directory;
  const std::string file = directory.Write("file", "");
  const std::string model = directory.File("model");
  fs::create_directories(directory.File("full/trace.json"));
  for (const auto& [trace, message] :
       std::vector<std::pair<std::string, std::string>>{{file, "cannot make this directory"},
                                                        {file + "/deeper", "cannot make this directory"},
                                                        {"/proc/trace", "cannot make this directory"},
                                                        {directory.File("full"), "is a directory"}}) {
    ExpectMistake(TrainArgs({"--profile-dir", trace, "--save", model}), {"--profile-dir " + trace, message});
    ExpectMistake({"bench", "--profile-dir", trace, "--json", model}, {"--profile-dir " + trace, message});
  }
  // What was made for it is gone again after whatever mistake, found before the run or in it.
  const std::string deep = directory.File("a/b/c/");
  const std::string json = deep + "trace.json";
  ExpectMistake({"bench", "--profile-dir", deep, "--json", json}, {"file of --"});
  ExpectMistake({"bench", "--profile-dir", deep, "--recat-mode", "x"}, {"--recat-mode: 'x'"});
  ExpectMistake({"bench", "--profile-dir", deep, "--ranks-per-chip", "3"}, {"--ranks-per-chip 3"});
  ExpectMistake(TrainArgs({"--profile-dir", deep, "--save", json}), {"file of --save"});
  ExpectMistake(TrainArgs({"--profile-dir", deep, "--sharding", "x"}), {"--sharding"});
  ExpectMistake({"train", "--data", "none", "--profile-dir", deep}, {});
  ExpectMistake(TrainArgs({"--profile-dir", directory.File("a/b/") + std::string(300, 'c')}), {"too long"});
  const std::string made = directory.File("made");
  fs::create_directory(made);
  ExpectMistake(TrainArgs({"--profile-dir", made, "--save", made + "/trace.json"}), {"file of --save"});
  EXPECT_THAT(directory.List(), ElementsAre("file", "full", "made"));
}

TEST_F(Outputs, ATraceShowsWhatIsBesideTheSteps) {
  const TemporaryDirectory directory;
  const ProgramResult result = RunHotrow(TrainArgs({"--profile-dir", directory.File("trace"), "--eval-data",
                                                    small_->data(), "--save", directory.File("model")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string trace = FileText(directory.File("trace/trace.json"));
  for (const char* name : {"\"step\"", "\"read_batch\"", "\"evaluate\"", "\"checkpoint\""})
    EXPECT_THAT(trace, HasSubstr(name));
}

TEST_F(Outputs, GoThroughLinks) {
  const TemporaryDirectory directory;
  fs::create_symlink("target", directory.File("link"));
  const ProgramResult result = RunHotrow(small_->Args("predict", {"--out", directory.File("link")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::is_symlink(directory.File("link")));
  const std::string lines = FileText(directory.File("target"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 40);
}

TEST_F(Outputs, AFullStdoutIsAFailure) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  for (const std::vector<std::string>& args :
       {small_->Args("eval"), small_->Args("eval", {"--json", "-"}), small_->Args("predict"),
        std::vector<std::string>{"doctor"}, std::vector<std::string>{"plan", "make"}}) {
    const ProgramResult result = RunHotrowInto("/dev/full", args);
    EXPECT_EQ(result.exit_code, 1) << args.front();
    EXPECT_THAT(result.err, HasSubstr("cannot write")) << args.front();
    EXPECT_THAT(result.err, HasSubstr("stdout")) << args.front();
  }
  // A device is written to, not replaced.
  ExpectFailure(small_->Args("predict", {"--out", "/dev/full"}), {"/dev/full: cannot write"});
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// By a shell that does what `script` says with the program, "$@".
ProgramResult RunBy(const std::string& script, const std::vector<std::string>& args) {
  std::vector<std::string> words = {"-c", script, "sh", HOTROW_TEST_BINARY};
  words.insert(words.end(), args.begin(), args.end());
  return RunProgram("/bin/sh", words);
}

// As a program that SIGPIPE ends, but that what it was writing beside its name is gone.
TEST_F(Outputs, AReaderThatHasGoneIsNoError) {
  const TemporaryDirectory directory;
  const std::string out = directory.File("out");
  std::string lines = FileText(small_->data());
  for (int i = 0; i < 20'000; ++i) lines += "1,2,3,u1\n";  // more than a pipe holds
  const std::string data = directory.Write("long.csv", lines);
  const auto predict = [&](const std::string& flag, const std::string& value) {
    return std::vector<std::string>{"predict", "--model", small_->model(), "--data", data, flag, value};
  };
  const std::string head = "{ \"$@\"; echo $? >&2; } | head -n 1";
  const ProgramResult first = RunBy(head, predict("--dump-inputs", out));
  EXPECT_EQ(first.err, "141\n");
  EXPECT_EQ(std::count(first.out.begin(), first.out.end(), '\n'), 1);
  EXPECT_EQ(RunBy(head, predict("--out", "/dev/stdout")).err, "141\n");
  EXPECT_THAT(directory.List(), ElementsAre("long.csv"));
  const std::string nobody = "mkfifo pipe && exec 4<>pipe >pipe 4<&- && exec \"$@\"";
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--help"},
        {"bench", "--help"},
        {"--version"},
        {"doctor"},
        {"doctor", "--json", "-", "--quiet"},
        {"plan", "make"},
        small_->Args("eval"),
        small_->Args("eval", {"--json", "-", "--quiet"}),
        TrainArgs({"--json", "-", "--quiet"}),
        {"data", "generate", "--samples", "10", "--out", out, "--json", "-", "--quiet"}}) {
    const ProgramResult result = RunBy(nobody, args);
    EXPECT_EQ(result.exit_code, 141) << ::testing::PrintToString(args);
    EXPECT_EQ(result.err, "") << ::testing::PrintToString(args);
  }
  // With stdout taken, stderr has the result.
  EXPECT_EQ(
      RunBy("mkfifo pipe && exec 4<>pipe 2>pipe 4<&- && exec \"$@\"", {"doctor", "--json", "-"}).exit_code,
      141);
}

// By a shell that sets the streams: "2>/dev/full", ">&-".
ProgramResult RunWithStreams(const std::string& redirections, const std::vector<std::string>& args) {
  return RunBy("exec \"$@\" " + redirections, args);
}

// Whether or not there is anybody to tell, a mistake is one, and no progress is worth the work.
TEST_F(Outputs, AStderrThatTakesNothingChangesNothingElse) {
  const std::vector<std::string> mistake = {"bench", "--ranks", "0"};
  for (const char* streams : {"2>/dev/full", "2>&-", "<&- >&- 2>&-"}) {
    EXPECT_EQ(RunWithStreams(streams, mistake).exit_code, 2) << streams;
    const TemporaryDirectory directory;
    std::vector<std::string> train =
        TrainArgs({"--save", directory.File("model"), "--eval-data", small_->data(), "--eval-every", "0.1"});
    const bool has_stdout = std::string(streams).find(">&- 2") == std::string::npos;
    if (!has_stdout) train.push_back("--quiet");
    EXPECT_EQ(RunWithStreams(streams, train).exit_code, 0) << streams;
    EXPECT_THAT(directory.List(), ElementsAre("model"));
    EXPECT_EQ(RunWithStreams(streams, small_->Args("eval", {"--json", "-"})).exit_code, 1) << streams;
  }
  const std::vector<std::string> ranks = {"plan", "make", "--ranks", "0"};
  EXPECT_EQ(RunWithStreams(">/dev/full 2>/dev/full", ranks).exit_code, 2);
}

TEST_F(Outputs, AMissingStreamIsNoFile) {
  const TemporaryDirectory directory;
  for (const std::vector<std::string>& args : {std::vector<std::string>{"doctor"},
                                               {"--version"},
                                               {"bench", "--help"},
                                               small_->Args("predict"),
                                               small_->Args("eval")}) {
    EXPECT_EQ(RunWithStreams(">&- 2>&-", args).exit_code, 1) << args.front();
    EXPECT_THAT(RunWithStreams(">&-", args).err, HasSubstr("cannot write")) << args.front();
  }
  // The model is read, and the predictions written, through other descriptors than the missing ones.
  const std::string model = FileText(small_->model());
  const std::vector<std::string> predict = small_->Args("predict", {"--out", directory.File("out")});
  EXPECT_EQ(RunWithStreams("<&- >&- 2>&-", predict).exit_code, 0);
  const std::string lines = FileText(directory.File("out"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 40);
  EXPECT_EQ(FileText(small_->model()), model);
}

TEST_F(Outputs, APredictionThatFailsLateLeavesNothing) {
  const TemporaryDirectory directory;
  std::string text = FileText(small_->data());
  for (int i = 0; i < 3000; ++i) text += "1,2,3,u1\n";
  const std::string short_line = directory.Write("short.csv", text + "1,2\n");
  const std::string no_number = directory.Write("number.csv", text + "1,x,3,u1\n");
  const std::string far_id = directory.Write("far.csv", text + "1,2,8,u1");
  for (const auto& [data, message] : std::vector<std::pair<std::string, std::string>>{
           {short_line, "short.csv:3042: 2 fields; the file has 4 columns"},
           {no_number, "number.csv:3042: column 2 (x): 'x' is not a number"},
           {far_id, "far.csv:3042: column 3 (n): id 8 is out of range; valid ids are 0 to 7"}}) {
    ExpectMistake({"predict", "--model", small_->model(), "--data", data, "--batch-size", "64", "--out",
                   directory.File("out"), "--dump-inputs", directory.File("inputs")},
                  {message});
    EXPECT_THAT(directory.List(), ElementsAre("far.csv", "number.csv", "short.csv"));
  }
  ASSERT_EQ(RunHotrow({"predict", "--model", small_->model(), "--data", far_id, "--bad-ids", "skip", "--out",
                       directory.File("out")})
                .exit_code,
            0);
}

TEST_F(Outputs, AnInterruptLeavesNothing) {
  const TemporaryDirectory directory;
  std::string text = FileText(small_->data());
  for (int i = 0; i < 2'000'000; ++i) text += "1,2,3,u1\n";
  const std::string data = directory.Write("large.csv", text);
  const ProgramResult predict =
      RunAndSignal({"predict", "--model", small_->model(), "--data", data, "--batch-size", "16", "--out",
                    directory.File("out"), "--dump-inputs", directory.File("inputs")},
                   directory.path(), {SIGINT});
  EXPECT_EQ(predict.exit_code, 130) << predict.err;
  EXPECT_THAT(directory.List(), ElementsAre("large.csv"));
  const ProgramResult generate =
      RunAndSignal({"data", "generate", "--out", directory.File("out"), "--samples", "50000000"},
                   directory.path(), {SIGHUP, SIGHUP});
  EXPECT_EQ(generate.exit_code, 130) << generate.err;
  EXPECT_EQ(generate.out, "");
  EXPECT_THAT(directory.List(), ElementsAre("large.csv"));
}

// Rows of `rows` in every table, few of them trained: a model that takes no time but to save.
std::vector<std::string> WideTables(const std::string& rows, const std::string& save) {
  std::string list;
  for (int table = 0; table < 26; ++table) list += (list.empty() ? "" : ",") + rows;
  return {"train", "--format",    "synthetic", "--cardinality",  list, "--multi-hot",
          "one",   "--samples",   "8",         "--batch-size",   "8",  "--dense-arch",
          "8,128", "--over-arch", "8,1",       "--dcn-low-rank", "2",  "--tables",
          "lazy",  "--save",      save};
}

TEST_F(Outputs, AnInterruptEndsASaveToo) {
  const TemporaryDirectory directory;
  const ProgramResult result =
      RunAndSignal(WideTables("100000", directory.File("model")), directory.path(), {SIGINT});
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("of 1.33"));
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(directory.List(), ElementsAre());
}

TEST_F(Outputs, AFileThatMayNotGrowIsAnError) {
  const TemporaryDirectory directory;
  const ProgramResult result =
      RunBy("ulimit -f 1; exec \"$@\"", TrainArgs({"--save", directory.File("model"), "--quiet"}));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("cannot write: File too large"));
  EXPECT_THAT(directory.List(), ElementsAre());
}

// Before any training, which is said on stderr.
TEST_F(Outputs, AModelNeedsRoom) {
  const TemporaryDirectory directory;
  const std::string model = directory.File("model");
  // Half as much again as there is, and not far more: address space is what ThreadSanitizer has least of.
  const std::uintmax_t free = std::filesystem::space(std::filesystem::path(model).parent_path()).available;
  const std::uintmax_t gigabytes = free / 1'000'000'000 * 3 / 2 + 1;
  const std::uintmax_t row_bytes = 26 * 128 * sizeof(float);
  const std::string rows = std::to_string((gigabytes * 1'000'000'000 + 500'000'000) / row_bytes);
  ExpectFailure(WideTables(rows, model),
                {model + ": needs " + std::to_string(gigabytes) + ".", " GB of disk, ", " GB are free"});
  ExpectMistake(TrainArgs({"--save", "/dev/null"}), {"/dev/null: exists and is not a file"});
  EXPECT_THAT(directory.List(), ElementsAre());
}

}  // namespace
}  // namespace hotrow

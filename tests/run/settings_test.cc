// The table of settings, and what flags and a configuration file make of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "hotrow/base/error.h"
#include "hotrow/run/run_settings.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;

// What goes wrong; "" where nothing does.
std::string ErrorOf(RunCommand command, const std::vector<GivenFlag>& flags) {
  try {
    RefuseUnread(ReadSettings(command, flags));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

RunConfig Read(RunCommand command, const std::vector<GivenFlag>& flags) {
  return ReadSettings(command, flags).config;
}

TEST(Settings, HaveNamesOfTheirOwnWithinACommand) {
  for (const RunCommand command : AllCommands()) {
    std::set<std::string_view> names;
    for (const Setting* setting : SettingsOf(command)) {
      EXPECT_TRUE(names.insert(setting->name).second) << CommandName(command) << " " << setting->name;
      EXPECT_TRUE(setting->negated.empty() || names.insert(setting->negated).second) << setting->negated;
      EXPECT_EQ(FindSetting(command, setting->name), setting);
      EXPECT_FALSE(setting->help.empty()) << setting->name;
      if (!setting->read_by.with.empty()) {
        EXPECT_NE(FindSetting(command, setting->read_by.with), nullptr) << setting->name;
      }
    }
  }
  EXPECT_EQ(FindSetting(kTrain, ""), nullptr);
  EXPECT_EQ(FindSetting(kDoctor, "optimizer"), nullptr);
}

// A default that its own setting refuses could not be said, nor compared between processes.
TEST(Settings, TakeTheirDefaultsAsText) {
  for (const RunCommand command : AllCommands()) {
    const RunConfig defaults = DefaultConfig(command);
    for (const Setting* setting : SettingsOf(command)) {
      const std::string text = TextOf(*setting, defaults);
      if (text.empty()) continue;
      RunConfig config = defaults;
      EXPECT_NO_THROW(Assign(*setting, {text}, "--x", config)) << setting->name << " " << text;
      EXPECT_EQ(TextOf(*setting, config), text) << setting->name;
    }
  }
}

TEST(Settings, WordsAreTheValidOnesAndTold) {
  for (const Setting& setting : AllSettings()) {
    const auto* choice = std::get_if<Choice>(&setting.at);
    if (choice == nullptr) continue;
    RunConfig config;
    EXPECT_THAT([&] { Assign(setting, {"nonsense"}, "--x", config); },
                ::testing::ThrowsMessage<Error>("--x: 'nonsense' is none of " + choice->valid()));
    std::string words = choice->valid() + ", ";
    for (std::size_t end = 0; (end = words.find(", ")) != std::string::npos; words.erase(0, end + 2)) {
      Assign(setting, {words.substr(0, end)}, "--x", config);
      EXPECT_EQ(TextOf(setting, config), words.substr(0, end)) << setting.name;
    }
  }
}

TEST(Numbers, AreDecimalAndFit) {
  for (const RunCommand command : AllCommands()) {
    if (FindSetting(command, "seed") == nullptr) continue;
    for (const char* number : {"1e3", "0x10", "12abc", "", " ", "1.0", "-", "--1", "+-1"}) {
      EXPECT_THAT(ErrorOf(command, {{"seed", {number}}}), HasSubstr("is not a decimal integer")) << number;
    }
    for (const char* number : {"-1", "18446744073709551616", "99999999999999999999999999"}) {
      EXPECT_EQ(ErrorOf(command, {{"seed", {number}}}),
                "--seed: '" + std::string(number) +
                    "' is out of range; valid are integers from 0 to 18446744073709551615");
    }
  }
  EXPECT_THAT(ErrorOf(kTrain, {{"epochs", {"9223372036854775808"}}}), HasSubstr("is out of range"));
  EXPECT_EQ(ErrorOf(kTrain, {{"batch-size", {"0"}}}),
            "--batch-size: '0' is out of range; valid are integers from 1 to 1073741824");
  EXPECT_EQ(ErrorOf(kBench, {{"dense-arch", {"512,0x10"}}}), "--dense-arch: '0x10' is not a decimal integer");
  EXPECT_EQ(ErrorOf(kBench, {{"learning-rate", {"0x1p3"}}}),
            "--learning-rate: '0x1p3' is not a decimal number");
  EXPECT_EQ(ErrorOf(kBench, {{"eps", {"1e400"}}}), "--eps: '1e400' is not a finite number");
  EXPECT_EQ(ErrorOf(kBench, {{"eps", {"1e39"}}}), "--eps: '1e39' is not a finite number");
  EXPECT_EQ(ErrorOf(kTrain, {{"lr-floor", {"1.5"}}}),
            "--lr-floor: '1.5' is out of range; valid are numbers from 0 to 1");
}

TEST(Numbers, LeadingZerosAreDecimalToo) {
  EXPECT_EQ(Read(kTrain, {{"seed", {"010"}}}).common.seed, 10U);
  EXPECT_EQ(Read(kTrain, {{"seed", {"+7"}}}).common.seed, 7U);
  EXPECT_EQ(Read(kTrain, {{"seed", {"18446744073709551615"}}}).common.seed, 18446744073709551615U);
}

TEST(Flags, ThatARunDoesNotReadAreRefused) {
  EXPECT_EQ(ErrorOf(kTrain, {{"format", {"criteo"}}, {"samples", {"3"}}}),
            "--samples: --format criteo does not read it; --format synthetic does");
  EXPECT_EQ(ErrorOf(kTrain, {{"format", {"csv"}}, {"max-rows", {"3"}}}),
            "--max-rows: --format csv does not read it; --format criteo or synthetic does");
  EXPECT_EQ(ErrorOf(kTrain, {{"eval-every", {"2"}}}),
            "--eval-every: a run without --eval-data does not read it; one with it does");
  EXPECT_EQ(ErrorOf(kBench, {{"part", {"gemm"}}, {"id-bytes", {"8"}}}),
            "--id-bytes: --part gemm does not read it; step, sparse, recat or alltoall does");
  EXPECT_EQ(ErrorOf(kBench, {{"part", {"sparse"}}, {"sharding", {"grid"}}}), "");
}

class ConfigFile : public ::testing::Test {
 protected:
  static std::vector<GivenFlag> Flag(const TempFile& file) { return {{"config", {file.path()}}}; }
};

TEST_F(ConfigFile, MistakesNameFileLineKeyAndWhatIsValid) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"[trian]\nepochs = 3\n", {":1: unknown table [trian], valid: bench, data, doctor, eval, "}},
      {"[bench]\nepochs = 3\n", {":2: epochs: unknown key, valid: bad-ids, beta1, beta2, cardinality"}},
      {"version = \"1\"\n", {":1: version: unknown key"}},
      {"[model]\nembeding_dim = 3\n", {":2: embeding_dim: unknown key, valid: auc-target"}},
      {"batch-size = 3\nbatch_size = 4\n", {":2: batch_size: line 1 sets it already"}},
      {"[model]\nepochs = 2\n[train]\nepochs = 1\n", {":4: epochs: line 2 sets it already"}},
      {"shuffle = true\nno_shuffle = true\n", {"sets it already"}},
      {"[train]\nepochs = \"3\"\n", {":2: epochs: must be an integer"}},
      {"epochs = 1.5\n", {":1: epochs: must be an integer"}},
      {"epochs = [1]\n", {":1: epochs: must be an integer, not a list"}},
      {"epochs = true\n", {":1: epochs: must be an integer"}},
      {"learning_rate = \"fast\"\n", {":1: learning_rate: must be a number"}},
      {"learning_rate = nan\n", {":1: learning_rate: ", "not a finite number"}},
      {"seed = -4\n", {":1: seed: ", "'-4' is out of range"}},
      {"quiet = 1\n", {":1: quiet: must be true or false"}},
      {"save = 7\n", {":1: save: must be a text"}},
      {"save = \"\"\n", {":1: save: the name of a file is empty"}},
      {"save = [\"a\", \"b\"]\n", {":1: save: must be a text, not a list"}},
      {"dense_arch = [512, 1.5]\n", {":1: dense_arch: must be an integer"}},
      {"dense_arch = [[512]]\n", {":1: dense_arch: must be an integer"}},
      {"format = 2024-01-01\n", {":1: format: must be a text"}},
      {"config = \"other.toml\"\n", {":1: config: unknown key"}},
      {"epochs = \n", {":1:"}},
      {"\"a\\nb\" = 1\n", {":1: a\\nb: unknown key, valid: auc-target"}},
      {std::string("epochs = 1\0\n", 12), {":1:"}},
      {"[[tables]]\ndim = 3\n", {":2: dim: unknown key in [[tables]], valid: name, embedding_dim, pooling"}},
      {"[[tables]]\neps = 3\n", {":1: [[tables]] needs a name"}},
      {"[[tables]]\nname = \"t\"\npooling = \"max\"\n", {":3: pooling: 'max' is none of sum, mean"}},
      {"[[tables]]\nname = \"t\"\nlearning-rate = 1\nlearning_rate = 1\n", {"in another spelling"}},
  };
  for (const auto& [text, parts] : cases) {
    const TempFile file("c.toml", text);
    const std::string error = ErrorOf(kTrain, Flag(file));
    for (const std::string& part : parts) EXPECT_THAT(error, HasSubstr(part)) << text;
    EXPECT_THAT(error, HasSubstr(file.path() + ":")) << text;
  }
  EXPECT_THAT(ErrorOf(kTrain, {{"config", {"/tmp"}}}), HasSubstr("--config /tmp: is a directory"));
  EXPECT_THAT(ErrorOf(kTrain, {{"config", {"/no/such"}}}), HasSubstr("no such file"));
  EXPECT_THAT(ErrorOf(kTrain, {{"config", {"/dev/zero"}}}), HasSubstr("--config /dev/zero: is not a file"));
  const TempFile file("c.toml", "x = 1\n");
  EXPECT_THAT(ErrorOf(kDoctor, Flag(file)), HasSubstr("c.toml:1: x: unknown key"));
}

TEST_F(ConfigFile, StandsInForFlagsAndAFlagWins) {
  const TempFile file("c.toml",
                      "no_shuffle = true\n[model]\ndense_arch = [6, 4]\nover_arch = \"5,1\"\nid_bytes = 4\n"
                      "[train]\nepochs = 3\nbatch-size = 7\n[bench]\nsteps = 9\n");
  std::vector<GivenFlag> flags = Flag(file);
  flags.push_back({"epochs", {"2"}});
  const RunSettings settings = ReadSettings(kTrain, flags);
  EXPECT_FALSE(settings.config.data.shuffle);
  EXPECT_EQ(settings.config.tower.dense_arch, (std::vector<std::int64_t>{6, 4}));
  EXPECT_EQ(settings.config.tower.over_arch, (std::vector<std::int64_t>{5, 1}));
  EXPECT_EQ(settings.config.placement.dist.id_bytes, IdBytes::k4);
  EXPECT_EQ(settings.config.loop.epochs, 2);
  EXPECT_EQ(settings.config.loop.batch_size, 7);
  EXPECT_EQ(settings.config.bench.steps, 50) << "bench's";
  EXPECT_EQ(settings.given, (std::set<std::string, std::less<>>{"config", "epochs"}));
  EXPECT_TRUE(settings.said.contains("batch-size"));
  EXPECT_EQ(Read(kEval, Flag(file)).tower.dense_arch.size(), 0U) << "a saved model has its own";
}

TEST_F(ConfigFile, OfARunThatDoesNotReadItIsPassedOver) {
  const TempFile file("c.toml", "samples = 7\nmax_rows = 3\neval_every = 2\n");
  std::vector<GivenFlag> flags = Flag(file);
  flags.push_back({"format", {"csv"}});
  EXPECT_EQ(ErrorOf(kTrain, flags), "");
}

}  // namespace
}  // namespace hotrow

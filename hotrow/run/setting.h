#pragma once
// One setting of a run: its name, what it sets, what may be said of it and who reads it.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hotrow/base/words.h"
#include "hotrow/run/run_config.h"

namespace hotrow {

/// The commands that have settings, as bits.
enum RunCommand : unsigned {
  kTrain = 1U << 0U,
  kEval = 1U << 1U,
  kPredict = 1U << 2U,
  kBench = 1U << 3U,
  kDataGenerate = 1U << 4U,
  kDataInfo = 1U << 5U,
  kPlanMake = 1U << 6U,
  kPlanShow = 1U << 7U,
  kPlanValidate = 1U << 8U,
  kDoctor = 1U << 9U,
  kExperiment = 1U << 10U,
};
using RunCommands = unsigned;

// What a setting is bound to: a field of a RunConfig, and with it the kind of its values.

template <typename T>
using Field = T& (*)(RunConfig&);

/// A file's name, which is not empty.
struct File {
  Field<std::string> at;
  bool writes = false;
  bool or_stdout = false;     ///< "-" is stdout
  bool is_directory = false;  ///< to write trace.json in
};
struct Files {
  Field<std::vector<std::string>> at;
};
/// One of a few words.
struct Choice {
  std::string (*valid)();
  bool (*set)(RunConfig&, std::string_view);  ///< false: none of them
  std::string (*get)(RunConfig&);
};
/// A text that has a form of its own. `set` throws Error.
struct Formed {
  void (*set)(RunConfig&, const std::string&);
  std::string (*get)(RunConfig&);
};

using Binding = std::variant<Field<bool>, Field<std::int64_t>, Field<std::uint64_t>, Field<float>,
                             Field<std::optional<float>>, Field<double>, Field<std::string>,
                             Field<std::vector<std::int64_t>>, File, Files, Choice, Formed>;

/// RunConfig's field at a path of members: At<&RunConfig::loop, &LoopConfig::epochs>.
template <auto... path>
auto& At(RunConfig& config) {
  return (config.*....*path);
}

/// The word of `words` for a field, which may be optional.
template <const auto& words, auto... path>
constexpr Choice ChoiceAt() {
  return {.valid = [] { return JoinWords(words); },
          .set =
              [](RunConfig& config, std::string_view text) {
                for (const auto& word : words) {
                  if (word.text != text) continue;
                  At<path...>(config) = word.value;
                  return true;
                }
                return false;
              },
          .get =
              [](RunConfig& config) {
                for (const auto& word : words) {
                  if (At<path...>(config) == word.value) return std::string(word.text);
                }
                return std::string();
              }};
}

inline constexpr unsigned kAll = ~0U;
/// Bits of a run's kinds.
template <typename E>
constexpr unsigned Bit(E e) {
  return 1U << static_cast<unsigned>(e);
}

/// Which runs of a command read a setting; who gives it to another expects something of it that does not
/// come.
struct ReadBy {
  unsigned formats = kAll;     ///< bits of DataFormat
  unsigned parts = kAll;       ///< bits of BenchPart
  std::string_view with = {};  ///< another setting, which must not be empty
};

struct Setting {
  std::string_view name;  ///< "learning-rate"; with underscores, a key of a TOML file or of a caller
  RunCommands commands;
  std::string_view help;
  Binding at;
  // Of numbers.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  ReadBy read_by = {};
  std::string_view negated = {};  ///< of a bool: the flag that turns it off
  bool positional = false;        ///< may stand without its name
  bool per_table = false;         ///< may be said of one table alone
  bool own = false;               ///< each process of a run may have another value
};

/// What a value of the setting is, as help and messages call it: "INT", "FILE", …
std::string_view TypeName(const Setting& setting);
/// Whether it takes several values.
bool IsList(const Setting& setting);

/// Sets the field from text, as on a command line: one word, or of a list several, each of which may be a
/// list with commas. Throws Error that begins with `where` and says what is valid.
void Assign(const Setting& setting, const std::vector<std::string>& words, const std::string& where,
            RunConfig& config);

/// The value as Assign reads it; "" for none.
std::string TextOf(const Setting& setting, const RunConfig& config);

}  // namespace hotrow

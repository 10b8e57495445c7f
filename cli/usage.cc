#include "cli/usage.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli11.h"
#include "hotrow/base/error.h"
#include "hotrow/base/join.h"
#include "hotrow/base/printable.h"

namespace hotrow::cli {
namespace {

// A flag with a --no- form and a default.
bool HasTwoWays(const CLI::Option& option) {
  return !option.get_fnames().empty() && !option.get_default_str().empty();
}

// CLI11 itself writes --yes,--no{false}=true.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (!HasTwoWays(*option)) return Formatter::make_option_name(option, is_positional);
    const std::vector<std::string>& negated = option->get_fnames();
    const bool on = option->get_default_str() == "true";
    std::string text;
    for (const std::string& name : option->get_lnames()) {
      const bool is_negated = std::find(negated.begin(), negated.end(), name) != negated.end();
      text += (text.empty() ? "--" : ", --") + name + (is_negated != on ? " (default)" : "");
    }
    return text;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return HasTwoWays(*option) ? "" : Formatter::make_option_opts(option);
  }
};

// The command that was chosen so far, whose subcommand is missing.
const CLI::App& Deepest(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

// "plan make".
std::string PathOf(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  const bool below_root = parent == nullptr || parent->get_parent() == nullptr;
  return below_root ? app.get_name() : PathOf(*parent) + " " + app.get_name();
}

// Levenshtein's distance: how many characters are to be put in, left out or replaced.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // of the prefixes of b, to one prefix of a
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// The flag of the command that `flag` may have been meant to be; empty where none is like it.
std::string NearestFlag(const CLI::App& app, std::string_view flag) {
  std::string nearest;
  std::size_t distance = flag.size() / 3 + 1;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::size_t to_name = EditDistance(flag, "--" + name);
      if (to_name >= distance) continue;
      distance = to_name;
      nearest = "--" + name;
    }
  }
  return nearest;
}

// Of the commands that were chosen, the outermost that was given words it does not know; there is one.
const CLI::App& WhereUnknown(const CLI::App& root) {
  const CLI::App* app = &root;
  while (app->remaining(false).empty()) app = app->get_subcommands().front();
  return *app;
}

[[noreturn]] void FailAtUnknown(const CLI::App& root) {
  const CLI::App& app = WhereUnknown(root);
  const std::string where = PathOf(app);
  const std::string word = app.remaining(false).front();
  const std::string flag = word.substr(0, word.find('='));
  if (!word.starts_with("-")) Fail("{}: {} is not expected here", where, Quoted(word));
  if (!app.get_subcommands({}).empty()) {
    Fail("{}: {} is not expected here; flags stand behind the {}command", where, Quoted(flag),
         app.get_parent() == nullptr ? "" : "sub");
  }
  const std::string nearest = NearestFlag(app, flag);
  Fail("{}: {} is no flag of it; {}", where, Quoted(flag),
       nearest.empty() ? fmt::format("`hotrow {} --help` lists them", where)
                       : fmt::format("the nearest is {}", nearest));
}

}  // namespace

void SetHelpFormat(CLI::App& root) { root.formatter(std::make_shared<HelpFormat>()); }

void ParseCommandLine(CLI::App& root, int argc, char** argv) {
  try {
    root.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    FailAtUnknown(root);
  } catch (const CLI::RequiredError&) {  // no option is required, only commands are
    const CLI::App& app = Deepest(root);
    std::vector<std::string> valid;
    for (const CLI::App* command : app.get_subcommands({})) valid.push_back(command->get_name());
    const bool is_root = app.get_parent() == nullptr;
    const std::string where = is_root ? "" : app.get_name() + ": ";
    const char* kind = is_root ? "command" : "subcommand";
    const std::vector<std::string> words = root.remaining(true);
    if (words.empty()) Fail("{}a {} is missing; valid: {}", where, kind, JoinNames(valid));
    Fail("{}{} is no {}; valid: {}", where, Quoted(words.front()), kind, JoinNames(valid));
  }
}

}  // namespace hotrow::cli

#include "cli/usage.h"

#include <algorithm>
#include <memory>
#include <string>
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

}  // namespace

void SetHelpFormat(CLI::App& root) { root.formatter(std::make_shared<HelpFormat>()); }

void ParseCommandLine(CLI::App& root, int argc, char** argv) {
  try {
    root.parse(argc, argv);
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

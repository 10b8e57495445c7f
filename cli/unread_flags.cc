#include "cli/unread_flags.h"

#include "cli/cli11.h"
#include "hotrow/base/error.h"

namespace hotrow::cli {

GivenFlags::GivenFlags(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    for (const std::string& name : option->get_lnames()) names_.insert("--" + name);
  }
}

void GivenFlags::Refuse(std::string_view run, std::initializer_list<FlagReader> flags) const {
  for (const FlagReader& flag : flags) {
    if (names_.contains(flag.flag)) Fail("{}: {} does not read it; {} does", flag.flag, run, flag.readers);
  }
}

}  // namespace hotrow::cli

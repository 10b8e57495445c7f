#include "cli/same_flags.h"

#include <fmt/core.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "hotrow/comm/collectives.h"

namespace hotrow::cli {
namespace {

bool EachForItself(const CLI::Option& option) {
  for (const char* name : {"--help", "--threads", "--quiet", "--json", "--config"}) {
    if (option.check_name(name)) return true;
  }
  return false;
}

std::string ValueOf(const CLI::Option& option) {
  if (option.count() == 0) return option.get_default_str();
  std::string value;
  for (const std::string& word : option.results()) value += (value.empty() ? "" : ",") + word;
  return value;
}

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

void CheckSameCommand(std::string_view command, Communicator& comm) {
  CheckAgreement(comm, BytesOf(fmt::format("{} {}", HOTROW_VERSION, command)),
                 "the command and hotrow's version");
}

void CheckSameFlags(const CLI::App& command, Communicator& comm) {
  CheckSameCommand(command.get_name(), comm);
  std::vector<const CLI::Option*> options;
  std::string all;
  for (const CLI::Option* option : command.get_options()) {
    if (EachForItself(*option)) continue;
    options.push_back(option);
    all += fmt::format("{}={}\n", option->get_name(), ValueOf(*option));
  }
  const std::size_t hash = std::hash<std::string>{}(all);
  if (AllReduceMin(comm, hash) == AllReduceMax(comm, hash)) return;
  for (const CLI::Option* option : options)
    CheckAgreement(comm, BytesOf(ValueOf(*option)), option->get_name());
}

}  // namespace hotrow::cli

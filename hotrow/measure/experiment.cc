#include "hotrow/measure/experiment.h"

#include <fmt/core.h>

#include <string_view>

namespace hotrow {

std::vector<std::string> Configuration::Arguments() const {
  std::vector<std::string> words = {"bench"};
  for (const BenchFlag& flag : flags) {
    words.push_back(fmt::format("--{}{}", flag.name, flag.value == "false" ? "=false" : ""));
    if (flag.value != "true" && flag.value != "false") words.push_back(flag.value);
  }
  return words;
}

std::vector<std::string> Configuration::Command(const std::string& program) const {
  std::vector<std::string> words;
  if (mpi > 0) words = {"mpirun", "-n", fmt::format("{}", mpi), "--oversubscribe"};
  words.push_back(program);
  const std::vector<std::string> arguments = Arguments();
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::string Configuration::CommandLine() const {
  std::string line;
  for (const std::string& word : Command("hotrow")) {
    if (!line.empty()) line += ' ';
    line += ShellWord(word);
  }
  return line;
}

std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=,.:/+%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  quoted += '\'';
  return quoted;
}

}  // namespace hotrow

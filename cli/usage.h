#pragma once
// The command line as a whole: how help is laid out, and which command was chosen.

namespace CLI {
class App;
}

namespace hotrow::cli {

/// Help that names both ways of a flag and says which is the default. Call before commands are added, which
/// take it over.
void SetHelpFormat(CLI::App& root);

/// root.parse. Throws CLI::Success for --help and --version, and an Error that names the word and the valid
/// ones where a command was expected and something else, or nothing, stands there, or the command, the word
/// and the flag most like it where nothing reads the word.
void ParseCommandLine(CLI::App& root, int argc, char** argv);

}  // namespace hotrow::cli

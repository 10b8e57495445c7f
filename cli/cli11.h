#pragma once
// CLI11, for the sources that define flags or read them. It takes seconds to compile: headers declare
// CLI::App and leave it out.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Option.hpp>

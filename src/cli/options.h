// Command line -> Command. Prints help itself.
#pragma once

#include <optional>

#include "cli/commands.h"

namespace narrow::cli {

// nullopt: help or version was printed, nothing is left to do. Errors carry ExitCode::kUsage and a suggestion.
Result<std::optional<Command>> parse_command_line(int argc, const char* const* argv);

}  // namespace narrow::cli

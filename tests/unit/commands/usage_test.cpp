// What programs say about wrong arguments.

#include "common/commands/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace dynamo::commands {
namespace {

/// The standard error of a program with the commands status, diff, `crds apply` and the hidden command moved.
std::string told(std::vector<std::string> arguments) {
  CLI::App app{"About.", "program"};
  app.require_subcommand(1);
  app.failure_message(usageError);
  std::string name;
  app.add_subcommand("status")->add_option("name", name)->required();
  app.add_subcommand("diff");
  app.add_subcommand("moved")->group("");
  CLI::App* crds = app.add_subcommand("crds");
  crds->require_subcommand(1);
  crds->add_subcommand("apply");
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 expects them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream errors;
    app.exit(error, out, errors);
    return errors.str();
  }
  return "";
}

}  // namespace

TEST_CASE("an unknown command is named, with the one that may be meant") {
  const std::string help = "Run with --help for more information.\n";
  struct Row {
    std::vector<std::string> arguments;
    std::string text;
  };
  const std::vector<Row> rows = {
      {{"diff"}, ""},
      {{"--help"}, ""},
      {{}, "A subcommand is required\n" + help},
      {{"bogus"}, "unknown command \"bogus\"\n" + help},
      {{"statsu"}, "unknown command \"statsu\"\n\nDid you mean this?\n\tstatus\n\n" + help},
      {{"Status", "x"}, "unknown command \"Status\"\n\nDid you mean this?\n\tstatus\n\n" + help},
      {{"--flag", "bogus", "x"}, "unknown command \"bogus\"\n" + help},
      {{"--flag"}, "A subcommand is required\n" + help},
      {{"move"}, "unknown command \"move\"\n" + help},
      {{"crds", "aply"}, "unknown command \"aply\"\n\nDid you mean this?\n\tapply\n\n" + help},
      {{"crds"}, "A subcommand is required\n" + help},
      {{"status"}, "name is required\n" + help},
      {{"diff", "x"}, "The following argument was not expected: x\n" + help},
      {{"a\x1b[2J\n"}, "unknown command \"a [2J \"\n" + help},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    CHECK(told(row.arguments) == row.text);
  }
}

}  // namespace dynamo::commands

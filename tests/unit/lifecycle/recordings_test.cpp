// Compares our statuses with those that the reference wrote for recorded objects. recorded-differences.txt
// has one line for each accepted difference of a value:
//   SCENARIO STEP OBJECT PATH THEIRS -> OURS DECISION # reason
// "_" stands for a blank.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>

#include "replay.h"
#include "tests/unit/source_dir.h"

namespace dynamo::lifecycle::test {
namespace {

std::string lineOf(const std::string& scenario, const Difference& difference) {
  std::string line = scenario;
  for (const std::string& part : {difference.step, difference.object, difference.path, difference.theirs,
                                  std::string{"->"}, difference.ours}) {
    std::string word = part;
    std::replace(word.begin(), word.end(), ' ', '_');
    line += ' ' + word;
  }
  return line;
}

/// The accepted differences; true: the difference occurred.
std::map<std::string, bool> accepted() {
  static const std::regex kLine{R"((\S+ \S+ \S+ \S+ \S+ -> \S+) (?:ctl|child|life|dec)-Q?[0-9]+[a-z]? # .+)"};
  std::map<std::string, bool> lines;
  std::ifstream file{dynamo::test::sourceFile("tests/unit/lifecycle/recorded-differences.txt")};
  REQUIRE(file);
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::smatch parts;
    INFO(line);
    REQUIRE(std::regex_match(line, parts, kLine));
    REQUIRE(lines.emplace(parts[1], false).second);
  }
  return lines;
}

TEST_CASE("statuses equal those of the reference except for recorded differences") {
  std::map<std::string, bool> lines = accepted();
  std::string unexpected;
  std::size_t compared = 0;
  for (const std::string& name : recordingNames()) {
    Recording recording{name};
    for (const Difference& difference : replay(recording, compared)) {
      const std::string line = lineOf(name, difference);
      const auto found = lines.find(line);
      if (found == lines.end()) {
        unexpected += line + '\n';
      } else {
        found->second = true;
      }
    }
  }
  std::string unused;
  for (const auto& [line, used] : lines) {
    if (!used) unused += line + '\n';
  }
  std::cerr << unexpected;  // lines for the file, without decision and reason
  INFO("accepted, but not met:\n" << unused);
  CHECK(unexpected.empty());
  CHECK(unused.empty());
  CHECK(compared > 4000);
}

}  // namespace
}  // namespace dynamo::lifecycle::test

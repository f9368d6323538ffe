// What `check` says about common mistakes. Each file of check/ has manifests, and the findings in lines that
// start with "#= ": severity, line of the manifest, rule, path and message.

#include "common/commands/check.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "common/commands/manifest_review.h"
#include "common/config/load.h"
#include "common/text/manifests.h"
#include "tests/unit/source_dir.h"

namespace dynamo::commands {
namespace {

constexpr std::string_view kMark = "#= ";

std::string expectedIn(const std::string& file) {
  std::ifstream input{file};
  std::string all;
  for (std::string line; std::getline(input, line);) {
    if (line.starts_with(kMark)) all += line.substr(kMark.size()) + "\n";
  }
  return all;
}

std::string saidAbout(const std::string& file, const std::string& namespaceName = "default") {
  const admission::Settings settings{config::defaultConfig(), "1.0.0"};
  text::Manifests manifests = text::readManifests({file});
  std::string said;
  for (text::Manifest& manifest : manifests.objects) {
    const ManifestReview review = reviewManifest(manifest, namespaceName, settings);
    REQUIRE(review.category != ManifestKind::Category::OtherGroup);
    for (const FileFinding& each : review.findings) {
      said += fmt::format("{} {} {} {}: {}\n", each.isError ? 'E' : 'W', each.at.line, each.rule, each.field,
                          each.message);
    }
  }
  for (const std::string& error : manifests.errors) said += "E " + error.substr(file.size() + 1) + "\n";
  return said;
}

TEST_CASE("check tells common mistakes with the place that was meant (adm-Q20 to adm-Q23)") {
  std::set<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator{dynamo::test::sourceFile("tests/unit/commands/check")}) {
    files.insert(entry.path().string());
  }
  CHECK(files.size() >= 15);
  for (const std::string& file : files) {
    INFO(file);
    CHECK(saidAbout(file) == expectedIn(file));
  }
}

TEST_CASE("a bad namespace of the command is told once for each object without one (adm-Q21)") {
  const std::string file = dynamo::test::sourceFile("tests/unit/commands/check/service-without-body.yaml");
  std::string told;
  std::istringstream said{saidAbout(file, "Bad NS")};
  int objects = 0;
  for (std::string line; std::getline(said, line);) {
    if (line.find("Bad NS") == std::string::npos) {
      told += line + "\n";
      continue;
    }
    ++objects;
    CHECK(line.find(" schema.metadata metadata.namespace: Invalid value: \"Bad NS\": must consist of") !=
          std::string::npos);
  }
  CHECK(objects == 6);
  CHECK(told == expectedIn(file));
}

}  // namespace
}  // namespace dynamo::commands

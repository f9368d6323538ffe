#include <yaml-cpp/yaml.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/unit/source_dir.h"

namespace {

namespace fs = std::filesystem;

// The annotation of client-side apply holds the whole manifest as compact JSON, and all annotations together
// may not exceed 262144 bytes.
constexpr std::size_t kMaxCompactBytes = 250'000;

std::string readFile(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::map<std::string, std::string> filesOf(const fs::path& directory) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::directory_iterator{directory}) {
    out[entry.path().filename().string()] = readFile(entry.path());
  }
  return out;
}

/// Upper bound of the node's compact JSON: every scalar quoted and escaped.
std::size_t compactBytes(const YAML::Node& node) {
  if (node.IsScalar()) {
    std::size_t size = 2;
    for (const char c : node.Scalar()) size += c == '"' || c == '\\' ? 2 : 1;
    return size;
  }
  std::size_t size = 2;
  for (const auto& entry : node) {
    size +=
        node.IsMap() ? compactBytes(entry.first) + compactBytes(entry.second) + 2 : compactBytes(entry) + 1;
  }
  return size;
}

fs::path freshDirectory() {
  std::string pattern = (fs::temp_directory_path() / "dynamo-crds-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  return pattern;
}

}  // namespace

TEST_CASE("deploy/crds equals the output of dynamo-crdgen for common/schema/kinds", "[schema]") {
  const fs::path fresh = freshDirectory();
  const std::string command = std::string{DYNAMO_CRDGEN} + " " + dynamo::test::sourceFile("common/schema") +
                              " --crds " + fresh.string();
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c): both paths are the build's own
  const auto wanted = filesOf(fresh);
  const auto found = filesOf(dynamo::test::sourceFile("deploy/crds"));
  fs::remove_all(fresh);
  CHECK(wanted.size() == 8);  // seven kinds and the field reference
  for (const auto& [name, text] : wanted) {
    INFO(name << " is stale: build the target crds");
    REQUIRE(found.count(name) == 1);
    CHECK(found.at(name) == text);
  }
}

TEST_CASE("every CRD fits into the annotation of client-side apply", "[schema]") {
  for (const auto& [name, text] : filesOf(dynamo::test::sourceFile("deploy/crds"))) {
    if (!name.ends_with(".yaml")) continue;
    INFO(name);
    CHECK(compactBytes(YAML::Load(text)) <= kMaxCompactBytes);
  }
}

TEST_CASE("names, versions and conversion of the CRDs", "[schema]") {
  std::set<std::string> storage;
  for (const auto& [name, text] : filesOf(dynamo::test::sourceFile("deploy/crds"))) {
    if (!name.ends_with(".yaml")) continue;
    const YAML::Node crd = YAML::Load(text);
    INFO(name);
    const YAML::Node spec = crd["spec"];
    CHECK(crd["metadata"]["annotations"]["helm.sh/resource-policy"].Scalar() == "keep");
    CHECK(name == "nvidia.com_" + spec["names"]["plural"].Scalar() + ".yaml");
    for (const auto& version : spec["versions"]) {
      CHECK(version["served"].as<bool>());
      if (version["storage"].as<bool>())
        storage.insert(spec["names"]["shortNames"][0].Scalar() + " " + version["name"].Scalar());
    }
    if (!spec["conversion"]) continue;
    CHECK(spec["names"]["kind"].Scalar() == "DynamoGraphDeploymentRequest");
    const YAML::Node webhook = spec["conversion"]["webhook"];
    CHECK(webhook["clientConfig"]["service"]["path"].Scalar() == "/convert");
    CHECK(webhook["conversionReviewVersions"][0].Scalar() == "v1");
  }
  const std::set<std::string> wanted{"dcd v1alpha1",   "dckpt v1alpha1", "dgd v1alpha1", "dgdr v1beta1",
                                     "dgdsa v1alpha1", "dm v1alpha1",    "dwm v1alpha1"};
  CHECK(storage == wanted);
}

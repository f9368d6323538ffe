// The sources of the client configuration.

#include "controller/kube/rest_config.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

Environment environmentOf(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string{} : found->second;
  };
}

std::string configFor(const std::string& host) {
  return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
         "clusters: [{name: k, cluster: {server: 'https://" +
         host + "'}}]\nusers: [{name: u, user: {token: t}}]\n";
}

/// Returns the host, or the error.
std::string hostOf(const std::variant<RestConfig, std::string>& loaded) {
  const auto* config = std::get_if<RestConfig>(&loaded);
  return config == nullptr ? std::get<std::string>(loaded) : config->server.address;
}

}  // namespace

TEST_CASE("the flag comes first, then KUBECONFIG, the pod and the home directory") {
  const certs::test::TemporaryDirectory folder;
  const std::string base = folder.path().string();
  certs::test::writeText(folder.path() / "flag", configFor("flag"));
  certs::test::writeText(folder.path() / "variable", configFor("variable"));
  std::filesystem::create_directories(folder.path() / ".kube");
  certs::test::writeText(folder.path() / ".kube" / "config", configFor("home"));
  const std::string none =
      "there is no kubeconfig file (--kubeconfig, KUBECONFIG, ~/.kube/config), and this is not a pod "
      "(KUBERNETES_SERVICE_HOST is not set)";
  struct Row {
    const char* about;
    std::string flag;
    std::map<std::string, std::string> variables;
    std::string host;
  };
  const std::vector<Row> rows{
      {"flag", base + "/flag", {{"KUBECONFIG", base + "/variable"}, {"HOME", base}}, "flag"},
      {"variable", "", {{"KUBECONFIG", base + "/variable"}, {"HOME", base}}, "variable"},
      {"several files, the first of which is missing",
       "",
       {{"KUBECONFIG", base + "/none::" + base + "/variable:" + base + "/flag"}},
       "variable"},
      {"home", "", {{"HOME", base}}, "home"},
      {"nothing", "", {}, none},
      {"a home without a file", "", {{"HOME", base + "/.kube"}}, none},
      {"a flag with a missing file",
       base + "/none",
       {{"HOME", base}},
       base + "/none: the file does not exist"},
      {"a variable with a missing file",
       "",
       {{"KUBECONFIG", base + "/none"}},
       base + "/none: the file does not exist"},
      {"a folder", base, {}, base + ": Is a directory"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    RestConfigFlags flags;
    flags.kubeconfig = row.flag;
    CHECK(hostOf(loadRestConfig(flags, environmentOf(row.variables))) == row.host);
  }
}

TEST_CASE("the service account and the home directory of a pod") {
  const certs::test::TemporaryDirectory folder;
  const std::string base = folder.path().string();
  std::filesystem::create_directories(folder.path() / ".kube");
  certs::test::writeText(folder.path() / ".kube" / "config", configFor("home"));
  // There is no service account here, so its error shows that it was chosen.
  const std::string account =
      "not inside a pod: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set";
  struct Row {
    const char* about;
    bool homeFirst;
    std::string home;
    std::string context;
    std::string host;
  };
  const std::vector<Row> rows{
      {"the operator: the service account", false, base, "", account},
      {"the operator with a context", false, base, "c", "home"},
      {"as kubectl: the home directory", true, base, "", "home"},
      {"as kubectl, with a context", true, base, "c", "home"},
      {"as kubectl, without a file", true, base + "/.kube", "", account},
      {"as kubectl, without a home directory", true, "", "", account},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    RestConfigFlags flags;
    flags.homeFirst = row.homeFirst;
    flags.context = row.context;
    const auto environment = environmentOf({{"HOME", row.home}, {"KUBERNETES_SERVICE_HOST", "10.96.0.1"}});
    CHECK(hostOf(loadRestConfig(flags, environment)) == row.host);
  }
}

TEST_CASE("a file that is too large is rejected") {
  const certs::test::TemporaryDirectory folder;
  certs::test::writeText(folder.path() / "config", configFor("a") + std::string((1 << 20) + 1, '#'));
  RestConfigFlags flags;
  flags.kubeconfig = (folder.path() / "config").string();
  CHECK(hostOf(loadRestConfig(flags, environmentOf({}))) == flags.kubeconfig + ": the file is too large");
}

TEST_CASE("the configuration of a pod") {
  const certs::test::TemporaryDirectory folder;
  certs::test::writeText(folder.path() / "token", "first");
  certs::test::writeText(folder.path() / "ca.crt", authority().pem());
  certs::test::writeText(folder.path() / "namespace", "dynamo-system\n");
  const auto at = [&](const char* host) {
    return inClusterConfig(
        environmentOf({{"KUBERNETES_SERVICE_HOST", host}, {"KUBERNETES_SERVICE_PORT", "443"}}),
        folder.path().string());
  };
  auto loaded = at("10.96.0.1");
  REQUIRE(std::holds_alternative<RestConfig>(loaded));
  const auto& config = std::get<RestConfig>(loaded);
  CHECK(config.server.address == "10.96.0.1");
  CHECK(config.server.port == 443);
  CHECK(config.serverName == "10.96.0.1");
  CHECK(config.namespaceName == "dynamo-system");
  CHECK(config.authorities.text() + "\n" == authority().pem());
  CHECK(presented(config).token == "first");
  CHECK(hostOf(at("fd00::1")) == "fd00::1");
}

TEST_CASE("the errors without a service account and outside of a pod") {
  const certs::test::TemporaryDirectory folder;
  const std::string base = folder.path().string();
  const auto inside =
      environmentOf({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}});
  CHECK(hostOf(inClusterConfig(inside, base)) == "the file " + base + "/token does not exist");
  certs::test::writeText(folder.path() / "token", "  ");
  CHECK(hostOf(inClusterConfig(inside, base)) == "the file " + base + "/token is empty");
  certs::test::writeText(folder.path() / "token", "t");
  CHECK(hostOf(inClusterConfig(inside, base)) == "the file " + base + "/ca.crt does not exist");
  CHECK(hostOf(inClusterConfig(environmentOf({}), base)) ==
        "not inside a pod: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set");
}

TEST_CASE("server URLs") {
  struct Row {
    const char* url;
    const char* address;  ///< empty: the URL is rejected
    int port;
    const char* path;
  };
  const Row row = GENERATE(values<Row>({
      {"https://a.example.com", "a.example.com", 443, ""},
      {"https://a.example.com/", "a.example.com", 443, ""},
      {"https://10.0.0.1:6443/k8s/clusters/c-1//", "10.0.0.1", 6443, "/k8s/clusters/c-1"},
      {"https://[fd00::1]", "fd00::1", 443, ""},
      {"https://[fd00::1]:8443/x", "fd00::1", 8443, "/x"},
      {"http://a", "", 0, ""},
      {"a:6443", "", 0, ""},
      {"https://", "", 0, ""},
      {"https://:6443", "", 0, ""},
      {"https://a:0", "", 0, ""},
      {"https://a:99999", "", 0, ""},
      {"https://a/b c", "", 0, ""},
      {"https://a/#b", "", 0, ""},
      {"https://u:p@a", "", 0, ""},
      {"", "", 0, ""},
  }));
  CAPTURE(row.url);
  const auto parsed = parseServerUrl(row.url);
  const auto* url = std::get_if<ServerUrl>(&parsed);
  REQUIRE((url != nullptr) == (*row.address != '\0'));
  if (url == nullptr) return;
  CHECK(url->endpoint.address == row.address);
  CHECK(url->endpoint.port == row.port);
  CHECK(url->path == row.path);
}

}  // namespace dynamo::kube::test

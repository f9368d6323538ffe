// Supported fields of kubeconfig files, and errors.

#include "controller/kube/kubeconfig.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "controller/kube/base64.h"
#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

std::variant<ExecCredential, std::string> runsNothing(const ExecPlugin&) {
  return std::string{"not run"};
}

std::variant<RestConfig, std::string> readText(const std::string& text, const std::string& context = {}) {
  return readKubeconfig({{"/etc/kube/config", text}}, context, runsNothing);
}

/// Returns a kubeconfig whose cluster and user have these members, in YAML flow style.
std::string configWith(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "contexts: [{name: c, context: {cluster: k, user: u, namespace: team-a}}]\n"
         "clusters:\n- {name: other, cluster: {}}\n- {name: k, cluster: {" +
         cluster + "}}\nusers:\n- {name: u, user: {" + user + "}}\n";
}

const std::string kServer = "server: 'https://api.example.com:6443'";

std::string errorOfConfig(const std::string& text, const std::string& context = {}) {
  const auto read = readText(text, context);
  const auto* error = std::get_if<std::string>(&read);
  return error == nullptr ? "" : *error;
}

RestConfig must(std::variant<RestConfig, std::string> read) {
  if (const auto* error = std::get_if<std::string>(&read)) throw std::runtime_error{*error};
  return std::get<RestConfig>(std::move(read));
}

}  // namespace

TEST_CASE("a context with a token") {
  const RestConfig config = must(readText(configWith(kServer, "token: abc")));
  CHECK(config.server.address == "api.example.com");
  CHECK(config.server.port == 6443);
  CHECK(config.serverName == "api.example.com");
  CHECK(config.basePath.empty());
  CHECK(config.verify);
  CHECK_FALSE(config.authorities.given());
  CHECK(config.namespaceName == "team-a");
  CHECK(presented(config).token == "abc");
}

TEST_CASE("certificates are given in the file or as paths relative to it") {
  const certs::test::TemporaryDirectory folder;
  const auto& pair = runtime::test::goodPair();
  certs::test::writeText(folder.path() / "ca.crt", authority().pem());
  certs::test::writeText(folder.path() / "own.crt", pair.certificate);
  certs::test::writeText(folder.path() / "own.key", pair.privateKey);
  certs::test::writeText(folder.path() / "token", " from-file\n");
  const auto inFiles = readKubeconfig(
      {{(folder.path() / "config").string(),
        configWith(kServer + ", certificate-authority: ca.crt",
                   "client-certificate: own.crt, client-key: own.key, tokenFile: token, token: ignored")}},
      "");
  const auto inText = readText(
      configWith(kServer + ", certificate-authority: /nowhere, certificate-authority-data: '" +
                     encodeBase64(authority().pem()) + "'",
                 "client-certificate-data: '" + encodeBase64(pair.certificate) + "', client-key-data: '" +
                     encodeBase64(pair.privateKey) + "', token: from-file"));
  for (const auto& read : {inFiles, inText}) {
    const RestConfig config = must(read);
    CHECK(config.authorities.text() + "\n" == authority().pem());
    CHECK(presented(config).certificate + "\n" == pair.certificate);
    CHECK(presented(config).key + "\n" == pair.privateKey);
    CHECK(presented(config).token == "from-file");
  }
}

TEST_CASE("contexts are selected by name, and namespace and user are optional") {
  const std::string text =
      "current-context: a\ncontexts:\n- {name: a, context: {cluster: k, user: u}}\n"
      "- {name: b, context: {cluster: l}}\n"
      "clusters:\n- {name: k, cluster: {" +
      kServer +
      "}}\n"
      "- {name: l, cluster: {server: 'https://[::1]/base/path/', tls-server-name: x.example.com,"
      " insecure-skip-tls-verify: true}}\n"
      "users: [{name: u, user: {token: abc}}]\n";
  const RestConfig first = must(readText(text));
  CHECK(first.namespaceName == "default");
  CHECK(presented(first).token == "abc");
  const RestConfig second = must(readText(text, "b"));
  CHECK(second.server.address == "::1");
  CHECK(second.server.port == 443);
  CHECK(second.basePath == "/base/path");
  CHECK(second.serverName == "x.example.com");
  CHECK_FALSE(second.verify);
  CHECK(presented(second).token.empty());
}

TEST_CASE("the first file with an entry takes precedence") {
  const std::vector<KubeconfigFile> files{
      {"/a", "clusters: [{name: k, cluster: {server: 'https://first'}}]\n"},
      {"/b", configWith("server: 'https://second'", "token: abc")},
      {"/c", "current-context: other\n"}};
  const RestConfig config = must(readKubeconfig(files, ""));
  CHECK(config.server.address == "first");
  CHECK(presented(config).token == "abc");
}

TEST_CASE("impersonation becomes headers") {
  const RestConfig config =
      must(readText(configWith(kServer,
                               "token: abc, as: jane, as-uid: '7', as-groups: [dev, ops], as-user-extra: "
                               "{scopes: [a], example.com/x: [b]}")));
  std::vector<std::string> headers;
  for (const auto& each : config.credentials->impersonation())
    headers.push_back(each.name + ": " + each.value);
  CHECK(headers == std::vector<std::string>{"Impersonate-User: jane", "Impersonate-Uid: 7",
                                            "Impersonate-Group: dev", "Impersonate-Group: ops",
                                            "Impersonate-Extra-scopes: a",
                                            "Impersonate-Extra-example.com%2Fx: b"});
}

TEST_CASE("a kubeconfig file may be JSON") {
  CHECK(must(readText(R"({"apiVersion":"v1","kind":"Config","current-context":"c",
      "contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
      "clusters":[{"name":"k","cluster":{"server":"https://a"}}],
      "users":[{"name":"u","user":{"token":"abc"}}],"preferences":{}})"))
            .server.address == "a");
}

TEST_CASE("a client that runs no credential plugins refuses a user with one") {
  const std::string text =
      configWith(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token}");
  CHECK(std::get<std::string>(readKubeconfig({{"/etc/kube/config", text}}, "")) ==
        "/etc/kube/config: users[0].user.exec: this program runs no credential plugins; give it a token or a "
        "client "
        "certificate");
  CHECK(std::holds_alternative<RestConfig>(readText(text)));
}

TEST_CASE("error messages contain the field path and no secrets") {
  struct Row {
    const char* about;
    std::string text;
    const char* message;  ///< without the path of the file
  };
  const std::string plugin = "apiVersion: client.authentication.k8s.io/v1, command: get-token";
  const Row row = GENERATE_COPY(values<Row>({
      {"empty", "", "the file is empty"},
      {"a scalar", "secret", "must be an object"},
      {"not YAML", "a: [secret", "line 1: not valid YAML or JSON"},
      {"two documents", "a: 1\n---\nb: 2\n", "must contain one document"},
      {"another kind", "kind: Pod", "kind: must be Config"},
      {"no current context", "kind: Config", "current-context: is required"},
      {"an unknown context", "current-context: x", "contexts: there is no context \"x\""},
      {"contexts of another type", "current-context: x\ncontexts: {a: b}", "contexts: must be a list"},
      {"a context of another type", "current-context: x\ncontexts: [secret]",
       "contexts[0]: must be an object"},
      {"an unknown cluster", "current-context: x\ncontexts: [{name: x, context: {cluster: k}}]",
       "contexts[0].context.cluster: there is no cluster \"k\""},
      {"an unknown user",
       "current-context: x\ncontexts: [{name: x, context: {cluster: k, user: u}}]\n"
       "clusters: [{name: k, cluster: {" +
           kServer + "}}]",
       "contexts[0].context.user: there is no user \"u\""},
      {"plain HTTP", configWith("server: 'http://a'", ""),
       "clusters[1].cluster.server: must start with https://"},
      {"no server", configWith("", ""), "clusters[1].cluster.server: must start with https://"},
      {"a password in the server", configWith("server: 'https://a:secret@b'", ""),
       "clusters[1].cluster.server: must not contain a user name"},
      {"a query in the server", configWith("server: 'https://a/b?secret'", ""),
       "clusters[1].cluster.server: must not have a query or a fragment"},
      {"a bad port", configWith("server: 'https://a:secret'", ""),
       "clusters[1].cluster.server: must have the form https://HOST:PORT/PATH"},
      {"a number as server", configWith("server: 7", ""), "clusters[1].cluster.server: must be a string"},
      {"a proxy", configWith(kServer + ", proxy-url: 'http://secret@p'", ""),
       "clusters[1].cluster.proxy-url: proxies are not supported"},
      {"an insecure server with a CA",
       configWith(kServer + ", insecure-skip-tls-verify: true, certificate-authority-data: YQ==", ""),
       "clusters[1].cluster.insecure-skip-tls-verify: must not be true when a certificate authority is "
       "given"},
      {"a string instead of a boolean", configWith(kServer + ", insecure-skip-tls-verify: 'yes'", ""),
       "clusters[1].cluster.insecure-skip-tls-verify: must be true or false"},
      {"a CA that is not base64", configWith(kServer + ", certificate-authority-data: 'secret!'", ""),
       "clusters[1].cluster.certificate-authority-data: must be base64"},
      {"a CA that is not PEM", configWith(kServer + ", certificate-authority-data: c2VjcmV0", ""),
       "clusters[1].cluster: the CA certificates cannot be read"},
      {"a CA file that does not exist", configWith(kServer + ", certificate-authority: nowhere/ca.crt", ""),
       "clusters[1].cluster.certificate-authority: the file /etc/kube/nowhere/ca.crt does not exist"},
      {"a token that is not a string", configWith(kServer, "token: [secret]"),
       "users[0].user.token: must be a string"},
      {"a token file that does not exist", configWith(kServer, "tokenFile: /nowhere"),
       "users[0].user.tokenFile: the file /nowhere does not exist"},
      {"a certificate without a key", configWith(kServer, "client-certificate-data: c2VjcmV0"),
       "users[0].user: client-certificate and client-key must be set together"},
      {"an invalid certificate",
       configWith(kServer, "client-certificate-data: c2VjcmV0, client-key-data: c2VjcmV0"),
       "users[0].user: the client certificate cannot be used"},
      {"an invalid key",
       configWith(kServer, "client-key-data: c2VjcmV0, client-certificate-data: '" +
                               encodeBase64(runtime::test::goodPair().certificate) + "'"),
       "users[0].user: the key of the client certificate cannot be used"},
      {"a password", configWith(kServer, "username: a, password: secret"),
       "users[0].user.username: API servers no longer support passwords"},
      {"an auth provider", configWith(kServer, "auth-provider: {name: secret}"),
       "users[0].user.auth-provider: is no longer supported; use exec"},
      {"groups without a user", configWith(kServer, "as-groups: [a]"),
       "users[0].user.as: is required with as-groups, as-uid and as-user-extra"},
      {"a plugin without a command",
       configWith(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1}"),
       "users[0].user.exec.command: is required"},
      {"a plugin of another version",
       configWith(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: a}"),
       "users[0].user.exec.apiVersion: must be client.authentication.k8s.io/v1 or "
       "client.authentication.k8s.io/v1beta1"},
      {"an interactive plugin", configWith(kServer, "exec: {" + plugin + ", interactiveMode: Always}"),
       "users[0].user.exec.interactiveMode: interactive plugins are not supported"},
      {"arguments of another type", configWith(kServer, "exec: {" + plugin + ", args: [a, 7]}"),
       "users[0].user.exec.args[1]: must be a string"},
  }));
  CAPTURE(row.about);
  const std::string error = errorOfConfig(row.text);
  CHECK(error == "/etc/kube/config: " + std::string{row.message});
  CHECK(error.find("secret") == std::string::npos);
}

TEST_CASE("the selected context must exist") {
  CHECK(errorOfConfig(configWith(kServer, ""), "other") ==
        "/etc/kube/config: contexts: there is no context \"other\"");
}

}  // namespace dynamo::kube::test

// The input, the output and the execution of credential plugins.

#include "controller/plugin/credentials/exec_credential.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <variant>

#include "controller/plugin/credentials/process.h"

namespace dynamo::plugin {
namespace {

using namespace std::chrono_literals;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

std::string credentialWith(const std::string& status) {
  return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" + status +
         "}";
}

/// Returns the output of a shell script, or "! " and the error.
std::string shell(const std::string& script, std::chrono::milliseconds within = 10s,
                  std::size_t maxBytes = 1000) {
  const Program program{"sh", {"-c", script}, {{"GREETING", "hello"}, {"HOME", "/own"}}, within, maxBytes};
  const auto ran = run(program);
  if (const auto* error = std::get_if<ProgramError>(&ran)) return "! " + error->message;
  return std::get<ProgramOutput>(ran).text;
}

}  // namespace

TEST_CASE("valid outputs of a plugin") {
  struct Row {
    const char* status;
    const char* token;
    const char* certificate;
    const char* expires;  ///< empty: the credential does not expire
  };
  const Row row = GENERATE(values<Row>({
      {R"({"token":"abc"})", "abc", "", ""},
      {R"({"token":"abc","expirationTimestamp":"2026-01-02T03:04:05Z"})", "abc", "", "2026-01-02T03:04:05Z"},
      {R"({"token":"abc","expirationTimestamp":"2026-01-02T03:04:05.678+01:00"})", "abc", "",
       "2026-01-02T02:04:05Z"},
      {R"({"token":"abc","expirationTimestamp":null})", "abc", "", ""},
      {R"({"clientCertificateData":"C","clientKeyData":"K"})", "", "C", ""},
      {R"({"token":"abc","clientCertificateData":"C","clientKeyData":"K","more":{}})", "abc", "C", ""},
  }));
  CAPTURE(row.status);
  const auto read = readExecCredential(credentialWith(row.status), kV1);
  REQUIRE(std::holds_alternative<kube::ExecCredential>(read));
  const auto& got = std::get<kube::ExecCredential>(read);
  CHECK(got.token == row.token);
  CHECK(got.certificate == row.certificate);
  CHECK(got.key == (got.certificate.empty() ? "" : "K"));
  CHECK((got.expires ? k8s::formatTime(*got.expires) : "") == row.expires);
}

TEST_CASE("errors about invalid outputs do not quote them") {
  struct Row {
    std::string output;
    const char* message;
  };
  const Row row = GENERATE(values<Row>({
      {"", "its output is not a JSON object"},
      {"secret", "its output is not a JSON object"},
      {"[\"secret\"]", "its output is not a JSON object"},
      {credentialWith(R"({"token":"secret"})") + "secret", "its output is not a JSON object"},
      {R"({"kind":"secret"})", "kind: must be ExecCredential"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})",
       "apiVersion: must be client.authentication.k8s.io/v1, as in the kubeconfig file"},
      {credentialWith("null"), "status: must be an object"},
      {credentialWith("{}"), "status: must have token, or clientCertificateData and clientKeyData"},
      {credentialWith(R"({"token":["secret"]})"), "status.token: must be a string"},
      {credentialWith(R"({"token":"secret","expirationTimestamp":"secret"})"),
       "status.expirationTimestamp: must be an RFC 3339 time"},
      {credentialWith(R"({"token":"secret","clientKeyData":"secret"})"),
       "status: clientCertificateData and clientKeyData must be set together"},
  }));
  CAPTURE(row.output);
  const auto read = readExecCredential(row.output, kV1);
  REQUIRE(std::holds_alternative<std::string>(read));
  CHECK(std::get<std::string>(read) == row.message);
}

TEST_CASE("the value of KUBERNETES_EXEC_INFO") {
  CHECK(
      execInfo(kV1, std::nullopt) ==
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}})");
  CHECK(
      execInfo(kV1, kube::ExecCluster{"https://a", "b", true, "CA"}) ==
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,)"
      R"("cluster":{"server":"https://a","tls-server-name":"b","insecure-skip-tls-verify":true,)"
      R"("certificate-authority-data":"Q0E="}}})");
}

TEST_CASE("the output, environment and input of a program") {
  CHECK(shell("printf ok") == "ok");
  CHECK(shell("printf \"$GREETING $HOME ${PATH:+path}\"") == "hello /own path");
  CHECK(shell("cat; printf end") == "end");
  CHECK(shell("kill -TERM $$; printf survived") == "! was ended by signal 15");
}

TEST_CASE("the error of a program does not contain its output") {
  CHECK(shell("printf secret; exit 3") == "! ended with status 3");
  CHECK(shell("printf secret; kill -KILL $$") == "! was ended by signal 9");
  CHECK(shell("while :; do printf secretsecret; done") == "! printed more than 1000 bytes");
  const auto ran = run({"dynamo-no-such-command", {}, {}, 1s, 10});
  REQUIRE(std::holds_alternative<ProgramError>(ran));
  CHECK(std::get<ProgramError>(ran).notFound);
  CHECK(std::get<ProgramError>(ran).message == "cannot be run: No such file or directory");
}

TEST_CASE("a program that exceeds its timeout is killed with its children") {
  const auto began = std::chrono::steady_clock::now();
  CHECK(shell("sleep 60 & sleep 60", 100ms) == "! did not end within 100 ms");
  CHECK(shell("exec >&-; sleep 60", 100ms) == "! did not end within 100 ms");
  CHECK(std::chrono::steady_clock::now() - began < 30s);
}

}  // namespace dynamo::plugin

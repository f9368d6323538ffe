#include "certs/command.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "certs/check.h"
#include "certs/files.h"
#include "certs/names.h"
#include "tests/unit/certs/support.h"

using namespace dynamo::certs;
using namespace dynamo::certs::test;

namespace {

struct Run {
  int status;
  std::string out;
  std::string err;
};

Run run(const CertsCommandOptions& options, Time now = kNow) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = runCertsCommand(options, now, out, err);
  return {status, out.str(), err.str()};
}

CertificateData readAll(const std::filesystem::path& dir) {
  return {{readText(dir / "ca.crt"), readText(dir / "ca.key")},
          {readText(dir / "tls.crt"), readText(dir / "tls.key")}};
}

CertsCommandOptions optionsFor(const std::filesystem::path& dir) {
  CertsCommandOptions options;
  options.dnsNames = {"svc.ns.svc", "localhost"};
  options.ipAddresses = {"127.0.0.1"};
  options.directory = dir;
  return options;
}

}  // namespace

TEST_CASE("certs makes a CA and a serving pair") {
  const TemporaryDirectory directory;
  CertsCommandOptions options = optionsFor(directory.path() / "out");
  options.lifetime = days{100};
  const Run made = run(options);
  INFO(made.err);
  REQUIRE(made.status == 0);
  CHECK(made.err.empty());
  CHECK(made.out == (options.directory / "ca.crt").string() + ": new CA, valid until 2036-02-27T00:00:00Z\n" +
                        (options.directory / "tls.crt").string() +
                        ": new serving certificate, valid until 2026-06-09T00:00:00Z\n");
  const CertificateData data = readAll(options.directory);
  CHECK_FALSE(checkAuthority(data.ca, kNow));
  CHECK_FALSE(checkServing(data.ca.certificate, data.serving, "svc.ns.svc", kNow));
  CHECK(extensionText(*parse(data.serving.certificate), NID_subject_alt_name) ==
        "DNS:svc.ns.svc, DNS:localhost, IP Address:127.0.0.1");
}

TEST_CASE("certs reuses the CA of the directory and overwrites only with --force") {
  const TemporaryDirectory directory;
  CertsCommandOptions options = optionsFor(directory.path());
  REQUIRE(run(options).status == 0);
  const CertificateData first = readAll(directory.path());

  const Run refused = run(options);
  CHECK(refused.status == 2);
  CHECK(refused.err ==
        "certs: " + (directory.path() / "tls.key").string() + ": already exists; --force overwrites\n");
  CHECK(readAll(directory.path()).serving.certificate == first.serving.certificate);

  options.force = true;
  REQUIRE(run(options).status == 0);
  const CertificateData second = readAll(directory.path());
  CHECK(second.ca.certificate == first.ca.certificate);
  CHECK(second.ca.privateKey == first.ca.privateKey);
  CHECK(second.serving.certificate != first.serving.certificate);
  CHECK_FALSE(checkServing(first.ca.certificate, second.serving, "svc.ns.svc", kNow));

  options.newCa = true;
  REQUIRE(run(options).status == 0);
  CHECK(readAll(directory.path()).ca.certificate != first.ca.certificate);
  options.force = false;
  CHECK(run(options).status == 2);
}

TEST_CASE("of several concurrent runs one writes all files and the others none") {
  constexpr int kRuns = 6;
  const TemporaryDirectory directory;
  std::array<int, kRuns> statuses{};
  {
    std::vector<std::jthread> threads;
    for (int& status : statuses) {
      threads.emplace_back([&] { status = run(optionsFor(directory.path())).status; });
    }
  }
  CHECK(std::count(statuses.begin(), statuses.end(), 0) == 1);
  CHECK(std::count(statuses.begin(), statuses.end(), 2) == kRuns - 1);
  const CertificateData data = readAll(directory.path());
  CHECK_FALSE(checkAuthority(data.ca, kNow));
  CHECK_FALSE(checkServing(data.ca.certificate, data.serving, "svc.ns.svc", kNow));
  CHECK(std::distance(std::filesystem::directory_iterator{directory.path()}, {}) == 4);
}

TEST_CASE("certs rejects invalid options with exit status 2") {
  const TemporaryDirectory directory;
  struct Row {
    void (*change)(CertsCommandOptions&);
    std::string text;
  };
  for (const Row& row :
       {Row{[](auto& o) { o.directory.clear(); }, "--out: a directory is required"},
        Row{[](auto& o) { o.dnsNames.clear(), o.ipAddresses.clear(); },
            "at least one DNS name or IP address"},
        Row{[](auto& o) { o.dnsNames = {"a b"}; }, "\"a b\" is not a DNS name"},
        Row{[](auto& o) { o.ipAddresses = {"1.2"}; }, "\"1.2\" is not an IP address"},
        Row{[](auto& o) { o.lifetime = days{0}; }, "lifetime of 0 days: must be 1 to 3650"},
        Row{[](auto& o) { o.lifetime = days{-5}; }, "lifetime of -5 days: must be 1 to 3650"},
        Row{[](auto& o) { o.directory = "/dev/null/x"; }, "/dev/null/x"}}) {
    CertsCommandOptions options = optionsFor(directory.path());
    row.change(options);
    const Run result = run(options);
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find(row.text) != std::string::npos);
  }
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("an unusable CA in the directory is not silently replaced") {
  const CertificateData data = makeData();
  struct Row {
    PemPair ca;
    Time now;
    std::string text;
  };
  for (const Row& row :
       {Row{{data.ca.certificate, ""}, kNow, "ca.key: "}, Row{{"", data.ca.privateKey}, kNow, "ca.crt: "},
        Row{{data.ca.certificate, data.serving.privateKey}, kNow, "does not match"},
        Row{data.serving, kNow, "not a certificate authority"},
        Row{data.ca, kNow + days{3651}, "ca.crt: has expired"}}) {
    const TemporaryDirectory directory;
    REQUIRE_FALSE(writeFiles(directory.path(), {row.ca, {}}, Overwrite::Refuse));
    CertsCommandOptions options = optionsFor(directory.path());
    const Run refused = run(options, row.now);
    INFO(refused.err);
    CHECK(refused.status == 2);
    CHECK(refused.err.find(row.text) != std::string::npos);
    CHECK(refused.err.find("--new-ca --force") != std::string::npos);
    options.newCa = true;
    options.force = true;
    CHECK(run(options, row.now).status == 0);
  }
}

#include "controller/access/serving_certificate.h"

#include <openssl/ssl.h>

#include <catch2/catch.hpp>
#include <memory>

#include "certs/names.h"
#include "tests/unit/certs/support.h"

namespace dynamo::access {
namespace {

using namespace certs::test;

const X509* leafOf(const certs::ServerContext& context) {
  return SSL_CTX_get0_certificate(context.get());
}

ServingCertificate made(const std::string& host, ServingCertificate::Clock clock) {
  auto result = ServingCertificate::make(host, std::move(clock));
  return std::get<ServingCertificate>(std::move(result));
}

}  // namespace

TEST_CASE("the certificate names localhost and the pod, and is signed by its own key") {
  ServingCertificate certificate = made("pod-0", [] { return kNow; });
  const certs::ServerContext context = certificate.context();
  const X509* const leaf = leafOf(context);
  CHECK(certs::dnsNamesOf(*leaf) == std::vector<std::string>{"localhost", "pod-0"});
  CHECK(X509_verify(const_cast<X509*>(leaf), X509_get0_pubkey(leaf)) == 1);
  CHECK(X509_NAME_cmp(X509_get_subject_name(leaf), X509_get_issuer_name(leaf)) == 0);
  CHECK(SSL_CTX_get_min_proto_version(context.get()) == TLS1_2_VERSION);
  ServingCertificate nameless = made("not a name", [] { return kNow; });
  CHECK(certs::dnsNamesOf(*leafOf(nameless.context())) == std::vector<std::string>{"localhost"});
}

TEST_CASE("the certificate is renewed 90 days before its end") {
  const auto now = std::make_shared<certs::Time>(kNow);
  ServingCertificate certificate = made("pod-0", [now] { return *now; });
  const certs::ServerContext first = certificate.context();
  CHECK(certificate.notAfter() == kNow + days{365});
  *now = kNow + days{275};
  CHECK(certificate.context() == first);
  *now += seconds{1};
  const certs::ServerContext second = certificate.context();
  CHECK(second != first);
  CHECK(certificate.notAfter() == *now + days{365});
  CHECK(certificate.context() == second);
}

}  // namespace dynamo::access

#include "common/runtime/system_authorities.h"

#include <openssl/x509.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace dynamo::runtime {

TEST_CASE("the CAs of the system are found on each distribution") {
  const std::string fedora = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem";
  struct Row {
    const char* about;
    std::vector<std::string> files;
    std::string variable;
    std::string bundle;
  };
  for (const Row& row : {
           Row{"the default of OpenSSL", {X509_get_default_cert_dir(), fedora}, "", ""},
           Row{"the default file of OpenSSL", {X509_get_default_cert_file(), fedora}, "", ""},
           Row{"Fedora", {"/etc/pki/tls/certs/ca-bundle.crt", fedora}, "", fedora},
           Row{"openSUSE", {"/etc/ssl/ca-bundle.pem"}, "", "/etc/ssl/ca-bundle.pem"},
           Row{"Alpine", {"/etc/ssl/cert.pem"}, "", "/etc/ssl/cert.pem"},
           Row{"the user says where", {fedora}, "SSL_CERT_FILE", ""},
           Row{"the user says in which directory", {fedora}, "SSL_CERT_DIR", ""},
           Row{"there are none", {}, "", ""},
       }) {
    CAPTURE(row.about);
    const auto exists = [&](const char* path) {
      return std::find(row.files.begin(), row.files.end(), path) != row.files.end();
    };
    const auto variable = [&](const char* name) { return row.variable == name ? "set" : nullptr; };
    CHECK(systemBundle(exists, variable) == row.bundle);
  }
}

}  // namespace dynamo::runtime

#pragma once

#include <string>
#include <string_view>

#include "common/json/parse.h"
#include "common/json/value.h"
#include "controller/certs/settings.h"
#include "controller/kube/base64.h"
#include "tests/unit/certs/support.h"

namespace dynamo::provisioning::test {

using certs::CertificateData;
using certs::PemPair;
using certs::Time;
using certs::test::days;
using certs::test::forge;
using certs::test::hours;
using certs::test::kNow;
using certs::test::makeData;
using certs::test::must;

inline json::Document object(const std::string& text) {
  json::Document document;
  if (const auto error = json::parse(text, document))
    throw std::runtime_error(error->message() + ": " + text);
  return document;
}

inline std::string base64(std::string_view text) {
  return kube::encodeBase64(text);
}

inline Settings settings(bool automatic = true, bool clusterWide = true) {
  return {{"svc", "ns"}, "webhook-server-cert", automatic, clusterWide};
}

/// A CA with the name of the CAs that operators create.
inline PemPair authority(Time begin, Time end, const std::string& name = "Dynamo-Webhook-CA") {
  return forge({.keyType = "RSA:2048",
                .commonName = name,
                .basicConstraints = "critical,CA:TRUE",
                .keyUsage = "critical,digitalSignature,keyCertSign",
                .extendedKeyUsage = "",
                .alternativeNames = "DNS:" + name,
                .begin = begin,
                .end = end});
}

}  // namespace dynamo::provisioning::test

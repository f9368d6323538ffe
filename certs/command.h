#pragma once

#include <chrono>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "certs/make.h"
#include "certs/openssl.h"

namespace dynamo::certs {

/// `certs --dns NAME --ip ADDR --out DIR [--days N] [--force] [--new-ca]`.
struct CertsCommandOptions {
  std::vector<std::string> dnsNames;
  std::vector<std::string> ipAddresses;
  std::filesystem::path directory;
  std::chrono::days lifetime = kServingLifetime;  // of the serving certificate
  bool force = false;                             // overwrite existing files
  bool newCa = false;                             // do not reuse the CA in the directory
};

/// Creates ca.crt, ca.key, tls.crt and tls.key in the directory, for local clusters and tests. A usable CA in
/// the directory (ca.crt with ca.key, not expired) is reused unchanged, so the caBundle of a running cluster
/// stays valid. Lists the created files on `out`, and writes one line to `err` on failure. Returns the exit
/// status: 0, or 2 for invalid options and for files that cannot be read, reused or written.
int runCertsCommand(const CertsCommandOptions& options, Time now, std::ostream& out, std::ostream& err);

}  // namespace dynamo::certs

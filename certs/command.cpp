#include "certs/command.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <utility>

#include "certs/check.h"
#include "certs/files.h"
#include "certs/rotate.h"

namespace dynamo::certs {

namespace {

constexpr int kExitError = 2;

// The CA in the directory, or nullopt if neither of its files exists. An unusable CA is an error. It is not
// replaced, because a caBundle may still contain it.
Result<std::optional<PemPair>> existingCa(const std::filesystem::path& directory, Time now) {
  const DirectorySnapshot files{directory};
  auto certificate = files.read(kCaCertificateFile);
  auto key = files.read(kCaKeyFile);
  const auto* certificateError = std::get_if<Error>(&certificate);
  const auto* keyError = std::get_if<Error>(&key);
  if (certificateError != nullptr && keyError != nullptr && certificateError->problem == Problem::Missing &&
      keyError->problem == Problem::Missing) {
    return std::optional<PemPair>{};
  }
  if (certificateError != nullptr) return *certificateError;
  if (keyError != nullptr) return *keyError;
  PemPair ca{std::move(std::get<std::string>(certificate)), std::move(std::get<std::string>(key))};
  auto parsed = parseAuthority(ca);
  if (const auto* error = std::get_if<Error>(&parsed)) return *error;
  const X509& parsedCa = *std::get<Authority>(parsed).certificate;
  const auto end = notAfter(parsedCa);
  if (!end || *end <= now) return Error{Problem::Expired, "ca.crt: has expired"};
  return std::optional<PemPair>{std::move(ca)};
}

int fail(std::ostream& err, std::string_view text) {
  err << "certs: " << text << '\n';
  return kExitError;
}

void report(std::ostream& out, const CertsCommandOptions& options, const CertificateData& made) {
  const auto describe = [&](const std::string& pem, const char* file, std::string_view note) {
    const auto parsed = parseCertificates(pem, file);
    const auto* chain = std::get_if<std::vector<CertificatePtr>>(&parsed);
    const auto end = chain == nullptr ? std::nullopt : notAfter(*chain->front());
    out << fmt::format("{}: {}, valid until {}\n", (options.directory / file).string(), note,
                       end ? formatTime(*end) : "unknown");
  };
  if (!made.ca.certificate.empty()) describe(made.ca.certificate, kCaCertificateFile, "new CA");
  describe(made.serving.certificate, kCertificateFile, "new serving certificate");
}

}  // namespace

int runCertsCommand(const CertsCommandOptions& options, Time now, std::ostream& out, std::ostream& err) {
  if (options.directory.empty()) return fail(err, "--out: a directory is required");
  const SubjectNames names{options.dnsNames, options.ipAddresses};
  if (const auto error = checkNames(names)) return fail(err, "--dns/--ip: " + error->text);

  std::optional<PemPair> ca;
  if (!options.newCa) {
    auto found = existingCa(options.directory, now);
    if (const auto* error = std::get_if<Error>(&found)) {
      return fail(err, error->text + "; the CA cannot be reused, --new-ca --force replaces it");
    }
    ca = std::move(std::get<std::optional<PemPair>>(found));
  }
  CertificateData made;
  if (!ca) {
    auto fresh = makeCa(now);
    if (const auto* error = std::get_if<Error>(&fresh)) return fail(err, error->text);
    made.ca = std::get<PemPair>(fresh);
    ca = std::move(std::get<PemPair>(fresh));
  }
  auto serving = makeServing(*ca, names, now, options.lifetime);
  if (const auto* error = std::get_if<Error>(&serving)) return fail(err, error->text);
  made.serving = std::move(std::get<PemPair>(serving));

  const auto error =
      writeFiles(options.directory, made, options.force ? Overwrite::Allow : Overwrite::Refuse);
  if (error && error->problem == Problem::Exists) return fail(err, error->text + "; --force overwrites");
  if (error) return fail(err, error->text);
  report(out, options, made);
  return 0;
}

}  // namespace dynamo::certs

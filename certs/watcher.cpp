#include "certs/watcher.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <initializer_list>
#include <utility>

#include "certs/client_ca.h"
#include "certs/files.h"
#include "certs/load.h"
#include "certs/names.h"

namespace dynamo::certs {

namespace {

using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, OpensslDeleter<EVP_MD_CTX_free>>;

// The digest also covers read errors, so that missing files, empty files and any content differ.
std::string describe(const Result<std::string>& file) {
  if (const auto* error = std::get_if<Error>(&file)) return fmt::format("!{}:", toString(error->problem));
  return fmt::format("{}:", std::get<std::string>(file).size());
}

void update(EVP_MD_CTX* context, const Result<std::string>& file) {
  const std::string header = describe(file);
  EVP_DigestUpdate(context, header.data(), header.size());
  if (const auto* text = std::get_if<std::string>(&file))
    EVP_DigestUpdate(context, text->data(), text->size());
}

Result<std::string> readOptional(const std::filesystem::path& file) {
  if (file.empty()) return std::string{};
  return DirectorySnapshot{file.parent_path().empty() ? "." : file.parent_path()}.read(
      file.filename().c_str());
}

/// Returns an empty list without a file.
Result<std::vector<CertificatePtr>> loadAuthorities(const Result<std::string>& pem,
                                                    const std::filesystem::path& file) {
  if (file.empty()) return std::vector<CertificatePtr>{};
  if (const auto* error = std::get_if<Error>(&pem)) return *error;
  return loadClientAuthorities(std::get<std::string>(pem), file.string());
}

}  // namespace

struct CertificateWatcher::Reading {
  Result<std::string> certificate;
  Result<std::string> key;
  Result<std::string> clientCa;

  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  Reading(const DirectorySnapshot& files, const std::filesystem::path& clientCaFile)
      : certificate{files.read(kCertificateFile)},
        key{files.read(kKeyFile)},
        clientCa{readOptional(clientCaFile)} {}
  ~Reading() {
    if (auto* text = std::get_if<std::string>(&key)) wipe(*text);
  }

  /// The digest of the pair without the client CAs.
  Digest pairDigest() const { return digestOf({&certificate, &key}); }
  Digest digest() const { return digestOf({&certificate, &key, &clientCa}); }

 private:
  static Digest digestOf(std::initializer_list<const Result<std::string>*> files) {
    Digest result{};
    const DigestContextPtr context{EVP_MD_CTX_new()};
    EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
    for (const auto* file : files) update(context.get(), *file);
    EVP_DigestFinal_ex(context.get(), result.data(), nullptr);
    return result;
  }
};

CertificateWatcher::CertificateWatcher(std::filesystem::path directory, TlsOptions options,
                                       std::string hostName, std::filesystem::path clientCaFile)
    : directory_{std::move(directory)},
      options_{options},
      hostName_{std::move(hostName)},
      clientCaFile_{std::move(clientCaFile)} {}

std::optional<CertificateEvent> CertificateWatcher::reject(const Digest& digest, Error error) {
  if (badDigest_ == digest && badProblem_ == error.problem) return std::nullopt;
  badDigest_ = digest;
  badProblem_ = error.problem;
  const auto end = notAfter();
  const bool absent = error.problem == Problem::Missing || error.problem == Problem::Empty;
  return CertificateEvent{!end && absent ? WatchEvent::Waiting : WatchEvent::Rejected, std::move(error), end};
}

std::optional<CertificateEvent> CertificateWatcher::poll(Time now) {
  const Reading files{DirectorySnapshot{directory_}, clientCaFile_};
  const Digest digest = files.digest();
  if (servedDigest_ == digest) {
    if (!badDigest_) return std::nullopt;
    badDigest_.reset();
    return CertificateEvent{WatchEvent::Recovered, std::nullopt, notAfter()};
  }
  if (const auto* error = std::get_if<Error>(&files.certificate)) return reject(digest, *error);
  if (const auto* error = std::get_if<Error>(&files.key)) return reject(digest, *error);

  auto authorities = loadAuthorities(files.clientCa, clientCaFile_);
  // Invalid client CAs must not delay a renewed pair. The previous CAs stay in use, and the next poll reports
  // the invalid ones.
  auto* const badAuthorities = std::get_if<Error>(&authorities);
  const Digest pairDigest = files.pairDigest();
  if (badAuthorities != nullptr && (!servedPair_ || servedPair_ == pairDigest)) {
    return reject(digest, std::move(*badAuthorities));
  }
  if (badAuthorities == nullptr) {
    auto& good = std::get<std::vector<CertificatePtr>>(authorities);
    authorities_.swap(good);
  }

  PemPair pem{std::get<std::string>(files.certificate), std::get<std::string>(files.key)};
  auto pair =
      loadServingPair(pem, (directory_ / kCertificateFile).string(), (directory_ / kKeyFile).string(), now);
  wipe(pem.privateKey);
  if (auto* error = std::get_if<Error>(&pair)) return reject(digest, std::move(*error));
  const ServingPair& loaded = std::get<ServingPair>(pair);
  auto context = makeServerContext(loaded, options_, authorities_);
  if (auto* error = std::get_if<Error>(&context)) {
    error->text = fmt::format("{}: {}", (directory_ / kCertificateFile).string(), error->text);
    return reject(digest, std::move(*error));
  }

  std::optional<Error> nameError;
  if (!hostName_.empty() && !isValidFor(*loaded.chain.front(), hostName_)) {
    nameError =
        Error{Problem::WrongName, fmt::format("{}: is not valid for {}, the host name that API servers use",
                                              (directory_ / kCertificateFile).string(), hostName_)};
    // Only this thread writes served_.
    if (served_ && served_->matchesHostName && now <= served_->notAfter)
      return reject(digest, std::move(*nameError));
  }

  servedPair_ = pairDigest;
  servedDigest_.reset();
  if (badAuthorities == nullptr) servedDigest_ = digest;
  badDigest_.reset();
  std::optional<Served> served{
      Served{std::move(std::get<ServerContext>(context)), loaded.notAfter, loaded.chainNotAfter, !nameError}};
  {
    // Swapped, so that the old context is freed after the lock is released.
    const std::lock_guard lock{mutex_};
    served_.swap(served);
  }
  return CertificateEvent{WatchEvent::Loaded, std::move(nameError), loaded.chainNotAfter};
}

ServerContext CertificateWatcher::context() const {
  const std::lock_guard lock{mutex_};
  return served_ ? served_->context : nullptr;
}

std::optional<Time> CertificateWatcher::notAfter() const {
  const std::lock_guard lock{mutex_};
  return served_ ? std::optional<Time>{served_->chainNotAfter} : std::nullopt;
}

bool CertificateWatcher::ready(Time now) const {
  const std::lock_guard lock{mutex_};
  return served_ && now <= served_->notAfter;
}

}  // namespace dynamo::certs

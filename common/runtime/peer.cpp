#include "common/runtime/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace dynamo::runtime {
namespace {

constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

/// Returns the name in RFC 8446 without underscores, such as "bad certificate" or "unknown ca".
std::string alertName(int alert) {
  if (alert == TLS13_AD_CERTIFICATE_REQUIRED) return "certificate required";  // OpenSSL has no name for it
  std::string name = SSL_alert_desc_string_long(alert);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

}  // namespace

Peer::Peer(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  void* const raw = &storage;
  if (::getpeername(fd, static_cast<sockaddr*>(raw), &size) != 0) return;
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &storage, sizeof in);
    std::memcpy(address_.data(), &in.sin6_addr, address_.size());
    port_ = ntohs(in.sin6_port);
  } else if (storage.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &storage, sizeof in);
    std::copy(kMapped.begin(), kMapped.end(), address_.begin());
    std::memcpy(address_.data() + kMapped.size(), &in.sin_addr, sizeof in.sin_addr);
    port_ = ntohs(in.sin_port);
  }
}

std::string Peer::text() const {
  if (port_ == 0) return {};
  const bool v4 = std::equal(kMapped.begin(), kMapped.end(), address_.begin());
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(v4 ? AF_INET : AF_INET6, address_.data() + (v4 ? kMapped.size() : 0), text.data(), text.size());
  const std::string address{text.data()};
  return (v4 ? address : "[" + address + "]") + ":" + std::to_string(port_);
}

TlsFault oldestFault(const SSL* ssl) {
  unsigned long code = ERR_peek_error();
  // For a certificate with a wrong signature, the crypto library queues its own error first.
  if (const unsigned long last = ERR_peek_last_error();
      ERR_GET_LIB(last) == ERR_LIB_SSL && ERR_GET_REASON(last) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    code = last;
  }
  if (code == 0 || ERR_GET_LIB(code) != ERR_LIB_SSL) return {};
  const int reason = ERR_GET_REASON(code);
  if (reason > SSL_AD_REASON_OFFSET) {
    const int alert = reason - SSL_AD_REASON_OFFSET;
    return {"remote error: " + alertName(alert), alert, false};
  }
  const char* text = ERR_reason_error_string(code);  // fixed texts, which contain no input
  TlsFault fault{text == nullptr ? "TLS error " + std::to_string(reason) : text, 0, false};
  fault.http = reason == SSL_R_HTTP_REQUEST;
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    fault.untrusted = true;
    fault.reason += ": ";
    fault.reason += X509_verify_cert_error_string(SSL_get_verify_result(ssl));
  }
  return fault;
}

}  // namespace dynamo::runtime

#include "webhook/http/self_check.h"

#include <openssl/ssl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include "webhook/http/wire.h"

namespace dynamo::webhook {
namespace {

constexpr std::size_t kMaxReply = std::size_t{1} << 20;
constexpr std::size_t kPart = std::size_t{16} * 1024;

struct ContextDelete {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

/// Waits on one socket until a common deadline.
class Patience {
 public:
  Patience(int fd, std::chrono::milliseconds timeout)
      : fd_(fd), last_(std::chrono::steady_clock::now() + timeout) {}

  /// False: the time is up, or the connection is closed.
  bool wait(detail::Io io) const {
    if (io == detail::Io::ok) return true;
    if (io == detail::Io::closed) return false;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(last_ - std::chrono::steady_clock::now());
    pollfd entry{fd_, static_cast<short>(io == detail::Io::wantRead ? POLLIN : POLLOUT), 0};
    return left.count() > 0 && ::poll(&entry, 1, static_cast<int>(left.count())) > 0;
  }

 private:
  int fd_;
  std::chrono::steady_clock::time_point last_;
};

/// Our own server always answers with a length, so nothing else is understood.
std::optional<SelfCheckReply> parseReply(const std::string& text) {
  constexpr std::string_view kStart = "HTTP/1.1 ";
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const auto end = text.find("\r\n\r\n");
  const auto length = text.find(kLength);
  if (end == std::string::npos || length > end || !text.starts_with(kStart)) return std::nullopt;
  SelfCheckReply out;
  std::size_t bytes = 0;
  const char* const last = text.data() + end;
  std::from_chars(text.data() + kStart.size(), last, out.status);
  std::from_chars(text.data() + length + kLength.size(), last, bytes);
  if (text.size() - (end + 4) < bytes) return std::nullopt;
  out.body = text.substr(end + 4, bytes);
  return out;
}

}  // namespace

std::variant<SelfCheckReply, SelfCheckError> selfCheck(const Endpoint& endpoint, std::string_view path,
                                                       std::string_view body,
                                                       std::chrono::milliseconds timeout) {
  auto connected = detail::connectTo(endpoint, static_cast<int>(timeout.count()));
  if (auto* error = std::get_if<std::string>(&connected)) return SelfCheckError{std::move(*error)};
  const auto& fd = std::get<detail::UniqueFd>(connected);

  detail::Wire::clearErrors();
  const std::unique_ptr<SSL_CTX, ContextDelete> client{SSL_CTX_new(TLS_client_method())};
  auto ssl = client == nullptr ? nullptr : detail::newClientSession(client.get(), fd.get());
  if (!ssl) return SelfCheckError{"cannot make a TLS client"};
  detail::Wire wire{fd.get(), std::move(ssl)};
  const Patience patience{fd.get(), timeout};

  for (auto io = wire.handshake(); io != detail::Io::ok; io = wire.handshake()) {
    if (!patience.wait(io)) return SelfCheckError{"the TLS handshake failed or took too long"};
  }
  std::string request{"POST "};
  request.append(path).append(" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
  request.append("Connection: close\r\nContent-Length: ").append(std::to_string(body.size()));
  request.append("\r\n\r\n").append(body);
  for (std::size_t sent = 0; sent < request.size();) {
    const auto result = wire.write(request.data() + sent, request.size() - sent);
    if (!patience.wait(result.io)) return SelfCheckError{"sending the request failed or took too long"};
    sent += result.bytes;
  }
  std::string reply;
  for (;;) {
    std::array<char, kPart> part;
    const auto got = wire.read(part.data(), part.size());
    reply.append(part.data(), got.bytes);
    if (auto parsed = parseReply(reply)) {
      wire.shutdown();
      return std::move(*parsed);
    }
    if (reply.size() > kMaxReply) return SelfCheckError{"the reply is too large"};
    if (!patience.wait(got.io)) return SelfCheckError{"there was no whole reply in time"};
  }
}

}  // namespace dynamo::webhook

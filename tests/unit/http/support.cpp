#include "support.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

namespace dynamo::webhook::test {
namespace {

constexpr std::size_t kPart = std::size_t{16} * 1024;
constexpr std::size_t kEchoLimit = std::size_t{64} * 1024;

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* p) const { Free(p); }
};
template <class T, void (*Free)(T*)>
using Owned = std::unique_ptr<T, Freed<T, Free>>;

// Handlers stop waiting before the client does.
constexpr auto kPatience = 8s;

/// The state that waiting handlers share.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  int reached = 0;
  int met = 0;
};
Meeting& meeting() {
  static Meeting shared;
  return shared;
}

Reply meet(HttpRequest&) {
  Meeting& at = meeting();
  std::unique_lock lock{at.mutex};
  const int mine = ++at.met;
  at.changed.notify_all();
  const bool both = at.changed.wait_for(lock, kPatience, [&] { return at.met >= mine + mine % 2; });
  return {200, "application/json", both ? "met" : "alone"};
}

Reply passGate(HttpRequest&) {
  Meeting& at = meeting();
  std::unique_lock lock{at.mutex};
  ++at.reached;
  const bool passed = at.changed.wait_for(lock, kPatience, [&] { return at.open; });
  return {200, "application/json", passed ? "through" : "shut"};
}

const Route* findTestRoute(std::string_view path) {
  const auto size = [](HttpRequest& request) {
    return Reply{200, "application/json", std::to_string(request.body.size())};
  };
  static const std::map<std::string, Route, std::less<>> kRoutes{
      {"/echo", {kEchoLimit, false, size}},
      {"/big", {std::size_t{16} << 20, true, size}},
      {"/mirror",
       {std::size_t{16} << 20, true,
        [](HttpRequest& request) {
          return Reply{200, "application/json", std::move(request.body)};
        }}},
      {"/throw", {1024, false, [](HttpRequest&) -> Reply { throw std::runtime_error{"secret"}; }}},
      {"/refuse",
       {1024, false,
        [](HttpRequest&) {
          return Reply{400, "application/json", "{}", false, "the body is not accepted"};
        }}},
      {"/slow",
       {1024, false,
        [](HttpRequest&) {
          std::this_thread::sleep_for(200ms);
          return Reply{200, "application/json", "slow"};
        }}},
      {"/large",
       {1024, false,
        [](HttpRequest&) {
          return Reply{200, "application/json", std::string(1 << 20, 'x')};
        }}},
      {"/patch",
       {1024, false,
        [](HttpRequest&) {
          return Reply{200, "application/json", std::string(400'000, 'x')};
        }}},
      {"/huge",
       {1024, false,
        [](HttpRequest&) {
          return Reply{200, "application/json", std::string(16 << 20, 'x')};
        }}},
      {"/meet", {1024, false, meet}},
      {"/gate", {1024, false, passGate, 0}},
  };
  if (path == "/lost") throw std::runtime_error{"secret"};
  const auto found = kRoutes.find(path);
  return found == kRoutes.end() ? nullptr : &found->second;
}

}  // namespace

ContextPtr serverContext(int minVersion) {
  const Owned<EVP_PKEY, EVP_PKEY_free> key{EVP_EC_gen("P-256")};
  const Owned<X509, X509_free> certificate{X509_new()};
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3'600);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const unsigned char host[] = "localhost";
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  ContextPtr context{SSL_CTX_new(TLS_server_method()), SSL_CTX_free};
  SSL_CTX_set_min_proto_version(context.get(), minVersion);
  if (SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    throw std::runtime_error{"cannot make a certificate"};
  }
  return context;
}

Client::Client(std::uint16_t port, Tls tls, const SSL_CTX* identity) {
  // A send to a closed connection must fail and not end the test.
  std::signal(SIGPIPE, SIG_IGN);
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval wait{10, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const void* raw = &address;
  if (::connect(fd_, static_cast<const sockaddr*>(raw), sizeof address) != 0) return;
  if (tls == Tls::none) {
    connected_ = true;
    return;
  }
  context_ = SSL_CTX_new(TLS_client_method());
  if (tls == Tls::strict) {
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  } else if (tls != Tls::any) {
    SSL_CTX_set_security_level(context_, 0);  // TLS 1.1 needs SHA-1
    SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, tls == Tls::v11 ? TLS1_1_VERSION : TLS1_2_VERSION);
  }
  if (identity != nullptr) {
    SSL_CTX_use_certificate(context_, SSL_CTX_get0_certificate(identity));
    SSL_CTX_use_PrivateKey(context_, SSL_CTX_get0_privatekey(identity));
  }
  ssl_ = SSL_new(context_);
  SSL_set_fd(ssl_, fd_);
  ERR_clear_error();
  connected_ = SSL_connect(ssl_) == 1;
  if (!connected_) {
    const int reason = ERR_GET_REASON(ERR_peek_error());
    if (reason > SSL_AD_REASON_OFFSET) alert_ = reason - SSL_AD_REASON_OFFSET;
    ERR_clear_error();
  }
}

Client::~Client() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  if (context_ != nullptr) SSL_CTX_free(context_);
  if (fd_ >= 0) ::close(fd_);
}

std::string Client::version() const {
  return ssl_ == nullptr ? "" : SSL_get_version(ssl_);
}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = 0;
    if (ssl_ != nullptr) {
      ERR_clear_error();
      sent = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    } else {
      sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Client::sendRaw(std::string_view bytes) {
  static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

/// The number of bytes read, 0 when closed, -1 after a timeout.
int Client::readSome() {
  std::array<char, kPart> part;
  ssize_t got = 0;
  if (ssl_ != nullptr) {
    ERR_clear_error();
    got = SSL_read(ssl_, part.data(), static_cast<int>(part.size()));
    if (got <= 0) return SSL_get_error(ssl_, static_cast<int>(got)) == SSL_ERROR_WANT_READ ? -1 : 0;
  } else {
    got = ::recv(fd_, part.data(), part.size(), 0);
    if (got <= 0) return got < 0 && errno == EAGAIN ? -1 : 0;
  }
  buffer_.append(part.data(), static_cast<std::size_t>(got));
  return static_cast<int>(got);
}

Answer Client::receive() {
  Answer answer;
  std::size_t length = 0;
  for (;;) {
    const auto end = buffer_.find("\r\n\r\n");
    if (end != std::string::npos && answer.head.empty()) {
      answer.head = buffer_.substr(0, end + 4);
      buffer_.erase(0, end + 4);
      constexpr std::string_view kLength = "Content-Length: ";
      const auto at = answer.head.find(kLength);
      const char* const last = answer.head.data() + answer.head.size();
      if (at != std::string::npos) {
        std::from_chars(answer.head.data() + at + kLength.size(), last, length);
      }
      std::from_chars(answer.head.data() + 9, last, answer.status);
    }
    if (!answer.head.empty() && buffer_.size() >= length) {
      answer.body = buffer_.substr(0, length);
      buffer_.erase(0, length);
      answer.end = End::reply;
      return answer;
    }
    const int got = readSome();
    if (got <= 0) {
      answer.end = got == 0 ? End::closed : End::timeout;
      answer.status = 0;
      return answer;
    }
  }
}

bool Client::closedByServer() {
  return buffer_.empty() && readSome() == 0;
}

bool Client::renegotiate() {
  ERR_clear_error();
  return SSL_renegotiate(ssl_) == 1 && SSL_do_handshake(ssl_) == 1;
}

bool Client::updateKey() {
  ERR_clear_error();
  return SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl_) == 1;
}

void Client::endOfStream() {
  ::shutdown(fd_, SHUT_WR);
}
void Client::goodbye() {
  SSL_shutdown(ssl_);
}

void Client::reset() {
  const linger hard{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  ::close(fd_);
  fd_ = -1;
}

Gate::Gate() {
  const std::lock_guard lock{meeting().mutex};
  meeting().open = false;
  meeting().reached = 0;
}

void Gate::open() {
  const std::lock_guard lock{meeting().mutex};
  meeting().open = true;
  meeting().changed.notify_all();
}

int Gate::reached() {
  const std::lock_guard lock{meeting().mutex};
  return meeting().reached;
}

TestServer::TestServer(Limits limits, unsigned threads, int minVersion, ServerEvents events)
    : context_(serverContext(minVersion)) {
  ServerOptions options;
  options.listen = {"127.0.0.1", 0};
  options.threads = threads;
  options.limits = limits;
  options.events = std::move(events);
  auto started = Server::start(options, findTestRoute, [this] {
    const std::lock_guard lock{mutex_};
    return context_;
  });
  if (auto* error = std::get_if<runtime::StartError>(&started)) throw std::runtime_error{error->message};
  server_ = std::make_unique<Server>(std::move(std::get<Server>(started)));
}

void TestServer::swapContext(ContextPtr next) {
  const std::lock_guard lock{mutex_};
  context_ = std::move(next);
}

std::string post(std::string_view path, std::string_view body, std::string_view extraHeaders) {
  std::string out{"POST "};
  out.append(path).append(" HTTP/1.1\r\nHost: webhook.test\r\nContent-Type: application/json\r\n");
  out.append(extraHeaders).append("Content-Length: ").append(std::to_string(body.size()));
  return out.append("\r\n\r\n").append(body);
}

std::size_t residentBytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace dynamo::webhook::test

// How the addresses of one host share the time for connecting.

#include "common/runtime/connect.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "support.h"

namespace dynamo::runtime::test {
namespace {

SocketAddress loopback(std::uint16_t port) {
  return make4({htonl(INADDR_LOOPBACK)}, port);
}

/// A port whose queue of connections is full: the kernel answers no further attempt to connect.
class SilentPort {
 public:
  SilentPort() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    SocketAddress address = loopback(0);
    REQUIRE(::bind(listener_.get(), address.get(), address.size) == 0);
    REQUIRE(::listen(listener_.get(), 0) == 0);
    REQUIRE(::getsockname(listener_.get(), address.get(), &address.size) == 0);
    address_ = address;
    constexpr int kMoreThanTheQueueTakes = 4;
    for (int i = 0; i < kMoreThanTheQueueTakes; ++i) {
      UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
      static_cast<void>(::connect(fd.get(), address_.get(), address_.size));
      waiting_.push_back(std::move(fd));
    }
  }

  const SocketAddress& address() const { return address_; }

 private:
  UniqueFd listener_;
  std::vector<UniqueFd> waiting_;
  SocketAddress address_;
};

/// A port that nobody listens at.
SocketAddress closedPort() {
  auto listening = listenOn({"127.0.0.1", 0}, {false, 10s});
  return loopback(std::get<Listening>(listening).port);
}

/// "connected", or the message of the error.
std::string connecting(const std::vector<SocketAddress>& addresses, std::chrono::milliseconds within) {
  EventLoop loop;
  auto result = runTask(loop, connectToAny(loop, {"host", 443}, addresses, in(within)));
  if (const auto* error = std::get_if<TransportError>(&result)) return error->message;
  return "connected";
}

}  // namespace

TEST_CASE("an address that never answers leaves time for the other addresses of the host") {
  const SilentPort silent;
  auto listening = listenOn({"127.0.0.1", 0}, {false, 10s});
  const SocketAddress good = loopback(std::get<Listening>(listening).port);
  const std::string timedOut = "cannot connect to host:443: timed out";
  const std::string refused = "cannot connect to host:443: Connection refused";
  struct Row {
    const char* about;
    std::vector<SocketAddress> addresses;
    std::chrono::milliseconds within;
    std::string result;
  };
  const std::vector<Row> rows{
      {"the second address answers", {silent.address(), good}, 2s, "connected"},
      {"the third address answers", {silent.address(), silent.address(), good}, 3s, "connected"},
      {"the second address refuses", {silent.address(), closedPort(), good}, 2s, "connected"},
      {"the first address answers", {good, silent.address()}, 2s, "connected"},
      {"no address answers", {silent.address(), silent.address()}, 100ms, timedOut},
      {"no address answers, the last refuses", {silent.address(), closedPort()}, 100ms, refused},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const auto start = std::chrono::steady_clock::now();
    CHECK(connecting(row.addresses, row.within) == row.result);
    // The loopback connects at once, so only the time shows whether the silent address had its share alone.
    if (row.result == "connected") CHECK(std::chrono::steady_clock::now() - start < row.within - 100ms);
  }
}

TEST_CASE("the addresses of a host share the time until the deadline equally") {
  const SilentPort silent;
  const auto start = std::chrono::steady_clock::now();
  CHECK(connecting({silent.address(), silent.address(), closedPort()}, 3s) ==
        "cannot connect to host:443: Connection refused");
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(took >= 1990ms);  // two of three shares
  CHECK(took < 2900ms);
}

}  // namespace dynamo::runtime::test

#include "common/runtime/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "common/runtime/reason.h"

namespace dynamo::runtime {
namespace {

std::optional<SocketAddress> parseAddress(const Endpoint& endpoint) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, endpoint.address.c_str(), &v4) == 1) return make4(v4, endpoint.port);
  if (inet_pton(AF_INET6, endpoint.address.c_str(), &v6) == 1) return make6(v6, endpoint.port);
  return std::nullopt;
}

}  // namespace

SocketAddress make4(const in_addr& address, std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr = address;
  in.sin_port = htons(port);
  SocketAddress out;
  std::memcpy(&out.storage, &in, sizeof in);
  out.size = sizeof in;
  return out;
}

SocketAddress make6(const in6_addr& address, std::uint16_t port) {
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_addr = address;
  in.sin6_port = htons(port);
  SocketAddress out;
  std::memcpy(&out.storage, &in, sizeof in);
  out.size = sizeof in;
  return out;
}

bool isIpAddress(const std::string& text) {
  return parseAddress({text, 0}).has_value();
}

std::variant<std::vector<SocketAddress>, std::string> resolve(const Endpoint& endpoint) {
  if (const auto address = parseAddress(endpoint)) return std::vector{*address};
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(endpoint.address.c_str(), std::to_string(endpoint.port).c_str(), &hints, &list);
  if (error != 0) return error == EAI_SYSTEM ? reasonOf(errno) : std::string{gai_strerror(error)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner{list, &freeaddrinfo};
  std::vector<SocketAddress> out;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    SocketAddress& address = out.emplace_back();
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  std::stable_partition(out.begin(), out.end(), [](const auto& each) { return each.family() == AF_INET; });
  return out;
}

}  // namespace dynamo::runtime

#include "common/runtime/plain_client.h"

#include <arpa/inet.h>

#include <optional>
#include <variant>
#include <vector>

#include "common/runtime/client_session.h"
#include "common/runtime/socket_address.h"

namespace dynamo::runtime {
namespace {

/// Returns the address to connect to, or nullopt. The kernel would connect an address for all addresses to
/// this host.
std::optional<SocketAddress> addressOf(const Endpoint& server) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, server.address.c_str(), &v4) == 1) {
    return v4.s_addr == htonl(INADDR_ANY) ? std::nullopt : std::optional{make4(v4, server.port)};
  }
  if (inet_pton(AF_INET6, server.address.c_str(), &v6) != 1) return std::nullopt;
  return IN6_IS_ADDR_UNSPECIFIED(&v6) ? std::nullopt : std::optional{make6(v6, server.port)};
}

ClientRequest textOf(PlainRequest& request) {
  ClientRequest out{std::move(request.method), std::move(request.path)};
  if (!request.accept.empty()) out.headers.push_back({"Accept", std::move(request.accept)});
  if (!request.json.empty()) out.headers.push_back({"Content-Type", "application/json"});
  out.headers.push_back({"Connection", "close"});
  out.body = std::move(request.json);
  return out;
}

}  // namespace

Task<TransportResult<PlainReply>> askPlain(EventLoop& loop, PlainRequest request) {
  const Deadline deadline = std::chrono::steady_clock::now() + request.timeout;
  const auto address = addressOf(request.server);
  if (!address) {
    co_return TransportError{Stage::Connect, TransportProblem::BadRequest,
                             "\"" + request.server.address + "\" is not the IP address of a server"};
  }
  auto opened = co_await ClientSession::openPlain(loop, request.server, *address, deadline);
  if (auto* error = std::get_if<TransportError>(&opened)) co_return std::move(*error);
  ClientRequest text = textOf(request);
  auto& session = std::get<ClientSession>(opened);
  auto reply = co_await session.exchange(std::move(text), request.maxReplyBytes, deadline);
  if (auto* error = std::get_if<TransportError>(&reply)) co_return std::move(*error);
  auto& whole = std::get<ClientReply>(reply);
  co_return PlainReply{whole.head.status, std::move(whole.body)};
}

}  // namespace dynamo::runtime

#include "client_support.h"

namespace dynamo::runtime::test {
namespace {

Task<Outcome> askOnce(EventLoop& loop, Target target, ClientContext context, ClientRequest request,
                      std::size_t maxBodyBytes, Deadline deadline) {
  auto opened = co_await ClientSession::open(loop, std::move(target), std::move(context), deadline);
  if (auto* error = std::get_if<TransportError>(&opened)) co_return Outcome{{}, std::move(*error)};
  auto reply = co_await std::get<ClientSession>(opened).exchange(std::move(request), maxBodyBytes, deadline);
  if (auto* error = std::get_if<TransportError>(&reply)) co_return Outcome{{}, std::move(*error)};
  co_return Outcome{std::get<ClientReply>(std::move(reply)), {}};
}

}  // namespace

const Authority& authority() {
  static const Authority shared;
  return shared;
}

const certs::PemPair& goodPair() {
  static const certs::PemPair pair = authority().sign("DNS:localhost,IP:127.0.0.1");
  return pair;
}

Target targetOf(const ScriptedPeer& peer, std::string serverName) {
  return Target{{"127.0.0.1", peer.port()}, std::move(serverName)};
}

Outcome ask(const Target& target, const AskOptions& options) {
  EventLoop loop;
  return runTask(loop, askOnce(loop, target, options.context, options.request, options.maxBodyBytes,
                               in(options.within)));
}

Outcome ask(const ScriptedPeer& peer, const AskOptions& options) {
  return ask(targetOf(peer, options.serverName), options);
}

/// A server that answers every request with the same bytes and then sends close_notify.
ScriptedPeer::Script answers(std::string text) {
  return [text = std::move(text)](PeerConnection& peer) {
    if (peer.request().empty()) return;
    peer.send(text);
    peer.goodbye();
  };
}

}  // namespace dynamo::runtime::test

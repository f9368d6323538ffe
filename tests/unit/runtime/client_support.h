#pragma once
// One request over a new connection to a scripted server.

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "common/runtime/client_session.h"
#include "support.h"

namespace dynamo::runtime::test {

const Authority& authority();

/// For "localhost" and 127.0.0.1.
const certs::PemPair& goodPair();

Target targetOf(const ScriptedPeer& peer, std::string serverName = "localhost");

/// The result of a request.
struct Outcome {
  std::optional<ClientReply> reply;
  TransportError error;
};

struct AskOptions {
  std::string serverName = "localhost";
  ClientContext context = trusting(authority().pem());
  ClientRequest request = {};
  std::size_t maxBodyBytes = 1 << 20;
  std::chrono::milliseconds within = 8s;
};

Outcome ask(const ScriptedPeer& peer, const AskOptions& options = {});
Outcome ask(const Target& target, const AskOptions& options = {});

/// A server that answers every request with the same bytes and then sends close_notify.
ScriptedPeer::Script answers(std::string text);

}  // namespace dynamo::runtime::test

#pragma once
// A POST to our own listener: the proof behind /readyz that certificate, handshake and handlers work.

#include <chrono>
#include <string>
#include <string_view>
#include <variant>

#include "common/runtime/endpoint.h"

namespace dynamo::webhook {

struct SelfCheckReply {
  int status = 0;
  std::string body;
};

struct SelfCheckError {
  std::string message;  ///< one sentence; never quotes the reply
};

/// Posts `body` as application/json to `path` over a new TLS connection and reads the whole reply. Blocks
/// for `timeout` at most. An endpoint of all addresses is reached over the loopback. The server's certificate
/// is not verified: the listener is our own process's. Replies above 1 MiB are an error.
std::variant<SelfCheckReply, SelfCheckError> selfCheck(
    const runtime::Endpoint& endpoint, std::string_view path, std::string_view body,
    std::chrono::milliseconds timeout = std::chrono::milliseconds{1'000});

}  // namespace dynamo::webhook

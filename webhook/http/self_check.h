#pragma once
// Sends a POST to the process's own listener. /readyz uses it to test the certificate, handshake and
// handlers.

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

/// Posts `body` as application/json to `path` over a new TLS connection and reads the complete reply. Blocks
/// for at most `timeout`. An endpoint for all addresses is reached over the loopback interface. The server
/// certificate is not verified, because the listener belongs to this process. A reply above 1 MiB is an
/// error.
std::variant<SelfCheckReply, SelfCheckError> selfCheck(
    const runtime::Endpoint& endpoint, std::string_view path, std::string_view body,
    std::chrono::milliseconds timeout = std::chrono::milliseconds{1'000});

}  // namespace dynamo::webhook

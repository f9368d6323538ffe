#pragma once
// Why an API server may be unreachable although kubectl reaches it: this client uses no proxy.

#include <string>

#include "common/runtime/endpoint.h"
#include "controller/kube/rest_config.h"

namespace dynamo::kube {

/// Returns a text to add to the error of a connection, if kubectl would use the proxy of HTTPS_PROXY or
/// https_proxy for the server. NO_PROXY and no_proxy have the patterns of Go programs. The text quotes no
/// value, because a proxy's URL may have a password.
std::string proxyHint(const runtime::Endpoint& server, const Environment& environment);

}  // namespace dynamo::kube

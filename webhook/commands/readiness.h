#pragma once
// The sample reviews that /readyz sends to the webhook's own listener (cert-Q15, cert-Q16).

#include <string>

#include "common/runtime/endpoint.h"
#include "webhook/http/exchange.h"

namespace dynamo::webhook {

/// Sends sample reviews to the webhook's own HTTPS endpoint `listen`, which must have the actual port.
/// Returns the reason of a failure, or an empty string. If `inProcess` is given, its guarded routes are
/// called without a connection: the webhook has no client certificate for them, and an exception from the
/// guard could be misused by others. The sample conversion then tests the listener.
std::string checkSampleReviews(const runtime::Endpoint& listen, const FindRoute& inProcess);

}  // namespace dynamo::webhook

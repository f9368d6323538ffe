#pragma once
// What /readyz asks of the webhook's own listener (cert-Q15, cert-Q16).

#include <string>

#include "common/runtime/endpoint.h"
#include "webhook/http/exchange.h"

namespace dynamo::webhook {

/// Whether our own HTTPS endpoint `listen`, with its actual port, answers canned reviews over TLS; why not,
/// or nothing. Guarded routes of `inProcess`, where given, are asked without a connection: there is no
/// certificate that would admit us, and a way around the guard for us would be one for others. The conversion
/// proves the listener then.
std::string askCannedReviews(const runtime::Endpoint& listen, const FindRoute& inProcess);

}  // namespace dynamo::webhook

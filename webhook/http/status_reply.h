#pragma once
// Replies that the server makes itself, and the head of every reply.

#include <cstddef>
#include <string>
#include <string_view>

#include "webhook/http/exchange.h"

namespace dynamo::webhook {

/// A `v1.Status` failure, as Kubernetes clients print it. `message` may hold any text (it is escaped).
Reply statusReply(int status, std::string_view message);

namespace detail {

/// Appends status line and headers. `allow` is sent as `Allow:` unless empty.
void appendHead(std::string& out, const Reply& reply, std::size_t bodyBytes, bool keepAlive,
                std::string_view allow);

}  // namespace detail
}  // namespace dynamo::webhook

#pragma once
// Replies that the server makes itself.

#include <string_view>

#include "common/runtime/reply_text.h"
#include "webhook/http/exchange.h"

namespace dynamo::webhook {

/// A `v1.Status` failure, as Kubernetes clients print it. `message` may hold any text (it is escaped).
inline Reply statusReply(int status, std::string_view message) {
  Reply reply;
  reply.status = status;
  reply.body = runtime::statusBody(status, message);
  return reply;
}

}  // namespace dynamo::webhook

#pragma once
// Replies of the server itself.

#include <string_view>

#include "common/runtime/reply_text.h"
#include "webhook/http/exchange.h"

namespace dynamo::webhook {

/// A `v1.Status` failure, which Kubernetes clients print. `message` may contain any text; it is escaped.
inline Reply statusReply(int status, std::string_view message) {
  Reply reply;
  reply.status = status;
  reply.body = runtime::statusBody(status, message);
  return reply;
}

}  // namespace dynamo::webhook

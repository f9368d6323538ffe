#pragma once
// Errors of requests to an API server: a metav1.Status, or a failure of the transport.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/json/value.h"
#include "common/runtime/reply_parser.h"
#include "common/runtime/transport_error.h"

namespace dynamo::kube {

/// The reason of the metav1.Status. Without a Status, the reason is derived from the HTTP status code.
enum class Reason {
  NotFound,
  AlreadyExists,
  Conflict,         ///< the resourceVersion or a precondition does not match, or a field has another manager
  Gone,             ///< 410: the resourceVersion or the continue token is too old
  TooManyRequests,  ///< 429
  Unauthorized,
  Forbidden,
  Invalid,      ///< 422: `causes` name the fields
  BadRequest,   ///< rejected as malformed by the server, or by the client before it sent the request
  Timeout,      ///< the server timed out (504, ServerTimeout), or the client did (status 0)
  Unavailable,  ///< 502, 503
  Internal,     ///< any other status from 500 on
  TooLarge,     ///< the reply is longer than the caller allows
  Transport,    ///< no complete reply: transport or parse error, closed write gate, stopping loop
  Other         ///< any other status below 500
};

/// Returns the name of the reason, such as "NotFound", for logs and metrics.
std::string_view nameOf(Reason reason);

/// One entry of `details.causes`.
struct Cause {
  std::string reason;   ///< "FieldValueInvalid", "FieldManagerConflict", "NamespaceTerminating", ...
  std::string message;  ///< human-readable
  std::string field;    ///< field path; may be empty
};

struct ApiError {
  ApiError(Reason reason_, int status_, std::string message_)
      : reason(reason_), status(status_), message(std::move(message_)) {}

  Reason reason;
  int status;           ///< HTTP status code; 0: there was no reply
  std::string message;  ///< one line of at most kMaxErrorMessage bytes
  std::vector<Cause> causes;
  std::optional<std::chrono::seconds> retryAfter;  ///< the delay before a retry that the server requested

  /// Returns true if the same request may succeed when it is retried: conflicts, throttling, timeouts, and
  /// failures of the server or of the transport.
  bool transient() const;
  /// Returns the first cause with that reason, or nullptr.
  const Cause* cause(std::string_view causeReason) const;
};

/// A T, or the error of the request.
template <class T>
using Result = std::variant<T, ApiError>;

// Messages end up in conditions and Events, which shorten them again: the API server allows 32 KiB and 1 KiB
// there. Only a message that quotes a whole object is longer than this limit.
inline constexpr std::size_t kMaxErrorMessage = 4096;
/// The maximum number of causes that are kept. An invalid object usually has a few.
inline constexpr std::size_t kMaxCauses = 64;
/// The maximum delay that is taken from Retry-After. Longer delays are shortened to it.
inline constexpr std::chrono::seconds kMaxRetryAfter{3600};

/// Whether an ApiError quotes the message of the server. A message about a Secret may quote its data, so
/// `Withhold` keeps only the reason, the name and the field paths.
enum class MessagePolicy { Quote, Withhold };

/// Returns the error of a reply with status 300 or above. A body that is not a metav1.Status, for example
/// from a proxy, is not quoted. Messages about Secrets are always withheld. Other messages
/// lose the values of environment variables (common/k8s/api_message.h).
ApiError errorOf(const runtime::ReplyHead& head, std::string_view body,
                 MessagePolicy messagePolicy = MessagePolicy::Quote);

/// Returns the error of a metav1.Status, which is the object of an ERROR event of a watch.
ApiError errorOf(const json::Value& status, MessagePolicy messagePolicy = MessagePolicy::Quote);

ApiError errorOf(const runtime::TransportError& error);

}  // namespace dynamo::kube

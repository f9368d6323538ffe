#pragma once
// The types that the HTTP server and the handlers exchange. They need no socket, so handlers are tested
// directly.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "webhook/http/limits.h"

namespace dynamo::webhook {

/// Spare capacity after a body, because parsers read ahead.
inline constexpr std::size_t kSpareBytes = 16;

/// Frees the memory of `text`. Assigning an empty string would keep the buffer in libstdc++.
inline void releaseText(std::string& text) {
  std::string{}.swap(text);
}

/// A completely read request. The handler owns `body` and may parse it in place.
struct HttpRequest {
  std::string body;
  /// When the request was complete. It may have waited for a thread since then. Epoch: unknown.
  std::chrono::steady_clock::time_point arrived{};
};

struct Reply {
  int status = 200;
  std::string contentType = "application/json";
  std::string body;
  bool selfCheck = false;  ///< the answer to a sample review of /readyz, which is not counted
  /// Why the request was refused, for the log. A fixed sentence that does not quote the request.
  std::string_view refusal = {};
};

/// The handler of a path, and the limits that apply before the body is read.
struct Route {
  std::size_t maxBody = 0;  ///< bytes; a longer body is answered with 413
  bool conversion = false;  ///< uses the budget and the queue deadline of conversions, which are larger
  std::function<Reply(HttpRequest&)> handle;
  /// Bodies of this size and above are handled on a worker thread. 0: all bodies.
  std::size_t heavyBody = kHeavyBody;
  bool guarded = false;  ///< requires a client that ServerOptions::admits accepts, if set
};

/// Returns the route of a path, or nullptr, which is answered with 404. Must be callable from any thread.
using FindRoute = std::function<const Route*(std::string_view path)>;

}  // namespace dynamo::webhook

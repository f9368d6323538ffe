#pragma once
// What the HTTP server and the handlers exchange: no socket, no Beast, so handlers are tested directly.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "webhook/http/limits.h"

namespace dynamo::webhook {

/// A body has room for so many bytes more: parsers read ahead.
inline constexpr std::size_t kSpareBytes = 16;

/// Gives up the memory of `text`. Assigning an empty string does not: libstdc++ then keeps the buffer.
inline void releaseText(std::string& text) {
  std::string{}.swap(text);
}

/// One request whose body has been read whole. `body` belongs to the handler: parsing in place may ruin it.
struct Request {
  std::string body;
  /// When it was whole; it may have waited for a thread since. Epoch: nobody has looked.
  std::chrono::steady_clock::time_point arrived{};
};

struct Reply {
  int status = 200;
  std::string contentType = "application/json";
  std::string body;
  bool own = false;  ///< the answer to our own canned review: not counted
  /// Why the request was refused, for the log: a fixed sentence, which quotes nothing of it.
  std::string_view refusal = {};
};

/// What may be asked under one path, decided before the body is read.
struct Route {
  std::size_t maxBody = 0;  ///< bytes; a longer body is answered 413
  bool conversion =
      false;  ///< long lists, for which clients wait long: a budget and a queue deadline of its own
  std::function<Reply(Request&)> handle;
  /// Bodies from this size on take long: a worker thread handles them. 0: every one.
  std::size_t heavyBody = kHeavyBody;
  bool guarded = false;  ///< only for clients that ServerOptions::admits, where that is set
};

/// Finds the route of a path; nullptr is answered 404. Must be callable from any thread.
using FindRoute = std::function<const Route*(std::string_view path)>;

}  // namespace dynamo::webhook

#pragma once
// Decodes and encodes ConversionReview v1.

#include <functional>
#include <string>
#include <string_view>

#include "webhook/http/exchange.h"

namespace dynamo::webhook {

struct ConversionOutcome {
  std::string_view uid;
  std::size_t objects = 0;
  std::size_t bytes = 0;  ///< of the request
  bool failed = false;
};
using ObserveConversion = std::function<void(const ConversionOutcome&)>;

/// Converts one object after the other while reading the body, so only the body, the answer and one object
/// are in memory. If an object cannot be converted, the whole review fails and the message names the object
/// and the field path (HTTP 200, result Failure). A body that is not a ConversionReview is answered with HTTP
/// 400.
Reply answerConversion(HttpRequest& request, const ObserveConversion& observe);

}  // namespace dynamo::webhook

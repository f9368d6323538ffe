#pragma once
// ConversionReview v1 in and out.

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

/// Converts object by object as the body is read: memory is the body, the answer and one object. One bad
/// object fails the whole review, naming it and its path (HTTP 200, result Failure). A body that is no
/// ConversionReview is answered HTTP 400.
Reply answerConversion(Request& request, const ObserveConversion& observe);

}  // namespace dynamo::webhook

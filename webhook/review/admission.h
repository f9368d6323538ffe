#pragma once
// Decodes and encodes AdmissionReview v1. The rules are in common/.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/admission/admit.h"
#include "common/field/finding.h"
#include "common/json/value.h"
#include "webhook/http/exchange.h"

namespace dynamo::webhook {

/// The uid of the sample reviews that /readyz sends to the webhook's own listener. They are answered like any
/// other review, but not counted (Reply::selfCheck).
inline constexpr std::string_view kSelfCheckUid = "dynamo-webhook-readyz";

/// A decoded review. Views point into the request's body.
struct Review {
  std::string_view uid;
  std::string_view operation;      ///< "CREATE", "UPDATE", "DELETE", "CONNECT"
  std::string_view name;           ///< empty until generateName is resolved
  std::string_view namespaceName;  ///< the namespace
  std::string_view clientVersion;  ///< requestKind.version: the version that the client used
  std::string_view username;
  json::Value* object = nullptr;  ///< nullptr when absent or null
  json::Value* old = nullptr;

  bool creates() const { return operation == "CREATE"; }
  bool updates() const { return operation == "UPDATE"; }
  /// The name in the review, or else in the object; empty when neither has one.
  std::string_view objectName() const;
};

/// The kind that a path accepts.
struct AdmissionKind {
  std::string_view apiVersion;  ///< "nvidia.com/v1beta1"
  std::string_view kind;
};

/// Decides about the object of a request, and may set its defaults in place.
using Admit =
    std::function<admission::Decision(json::Value& object, const admission::Request&, json::Allocator&)>;

/// The outcome of a review, for metrics and logs.
struct AdmissionOutcome {
  std::string_view operation;
  bool allowed = false;
  bool readable = true;  ///< false: denied because the object cannot be read
  const std::vector<field::FieldError>* errors = nullptr;  ///< of a denial; empty when not readable
  const Review* review = nullptr;                          ///< never nullptr
};
using ObserveAdmission = std::function<void(const AdmissionOutcome&)>;

/// Decodes the body, calls `admit` (for CREATE and UPDATE only) and encodes the answer. A body that is not an
/// AdmissionReview v1 with a uid is answered with HTTP 400. All other answers are HTTP 200 with the uid.
Reply answerAdmission(HttpRequest& request, const AdmissionKind& kind, const Admit& admit,
                      const ObserveAdmission& observe);

}  // namespace dynamo::webhook

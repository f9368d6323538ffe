#pragma once
// AdmissionReview v1 in and out. No rules here.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/json/patch.h"
#include "common/json/value.h"
#include "webhook/http/exchange.h"

namespace dynamo::webhook {

/// The uid of the reviews that /readyz sends to its own listener: answered like any other, but not counted
/// (Reply::own).
inline constexpr std::string_view kSelfCheckUid = "dynamo-webhook-readyz";

/// A decoded review. Views point into the request's body.
struct AdmissionRequest {
  std::string_view uid;
  std::string_view operation;      ///< "CREATE", "UPDATE", "DELETE", "CONNECT"
  std::string_view name;           ///< empty while generateName has not been resolved
  std::string_view space;          ///< the namespace
  std::string_view clientVersion;  ///< requestKind.version: what the client wrote
  std::string_view username;
  json::Value* object = nullptr;  ///< nullptr when absent or null
  json::Value* old = nullptr;

  bool creates() const { return operation == "CREATE"; }
  bool updates() const { return operation == "UPDATE"; }
  /// Of the review, or where it names none of the object; empty when that has none yet.
  std::string_view objectName() const;
};

/// What a handler decides. Errors deny; a patch goes with an allowed answer only.
struct Decision {
  field::Findings findings;
  std::string patch;       ///< RFC 6902 text; empty: nothing changes
  std::string badRequest;  ///< not empty: the object cannot be read at all (400)
};

/// The kind that a path answers for.
struct AdmissionKind {
  std::string_view apiVersion;  ///< "nvidia.com/v1beta1"
  std::string_view kind;
};

using Admit = std::function<Decision(AdmissionRequest&, json::Allocator&)>;

/// What was decided, for metrics and log.
struct AdmissionOutcome {
  std::string_view operation;
  bool allowed = false;
  bool judged = true;  ///< false: denied because the object cannot be read
  const std::vector<field::FieldError>* errors = nullptr;  ///< of a denial; empty when it was not judged
  const AdmissionRequest* request = nullptr;               ///< never nullptr
};
using ObserveAdmission = std::function<void(const AdmissionOutcome&)>;

/// Decodes the body, asks `admit` (CREATE and UPDATE only) and encodes the answer. A body that is no
/// AdmissionReview v1 with a uid is answered HTTP 400; every other answer is HTTP 200 with the uid.
Reply answerAdmission(Request& request, const AdmissionKind& kind, const Admit& admit,
                      const ObserveAdmission& observe);

}  // namespace dynamo::webhook

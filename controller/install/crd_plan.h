#pragma once
// Plans how a CustomResourceDefinition is applied to a cluster (ctl-Q90, ctl-Q91). Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::install {

/// The field manager of the reference's program, so that its fields and ours are the same ones.
inline constexpr std::string_view kCrdManager = "dynamo-crd-apply";
/// The annotation with the version of the operator that has applied the CRD.
inline constexpr std::string_view kVersionAnnotation = "dynamo.nvidia.com/operator-version";

/// Returns why the object of a file is not a CRD that can be applied, or an empty text.
std::string crdProblem(const json::Value& object);

struct CrdPlan {
  bool leaveAlone = false;  ///< a newer operator has applied the CRD
  std::string note;         ///< what a person should know; may be empty
  std::string body;         ///< of a server-side apply; empty if the CRD is left alone
};

/// Plans the server-side apply of `crd` by an operator of `version`, which must be a valid version. `live` is
/// the CRD of the cluster, or nullptr.
///
/// - A version of the live CRD that is newer leaves it alone. One that cannot be read is not newer.
/// - spec.conversion is not applied, because its Service and its CA are known to the controller only, which
///   writes them as another field manager. An apply without fields of others keeps them.
/// - If this field manager owns fields of the live spec.conversion, they are applied as they are, because an
///   apply without them would remove them.
/// - The body has the live resourceVersion. If the CRD has changed since it was read, the apply fails with a
///   conflict: a newer operator may have applied it.
CrdPlan planCrd(const json::Value& crd, const json::Value* live, std::string_view version);

/// Returns a JSON patch that gives the live CRD the conversion of `crd`, or an empty text. Only a CRD without
/// a conversion webhook gets it: it would convert objects by removing fields. Until the controller has
/// written the right Service and the CA, requests in other versions than the stored one fail.
std::string planConversion(const json::Value& crd, const json::Value& live);

/// Whether what a person may write is the same in both: spec, labels and annotations. The resourceVersion
/// also changes with the status, which the API server writes some time after a CRD was created.
bool sameContent(const json::Value& a, const json::Value& b);

enum class CrdState : std::uint8_t {
  Established,
  Starting,     ///< Established soon, without help
  Refused,      ///< its names are those of another CRD
  Terminating,  ///< its objects are being deleted
};

struct CrdHealth {
  CrdState state = CrdState::Starting;
  std::string reason;  ///< why it is not Established
};

CrdHealth healthOf(const json::Value& live);

}  // namespace dynamo::install

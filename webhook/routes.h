#pragma once
// The table of paths: what is answered where, and by which rules.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "webhook/admit.h"
#include "webhook/http/exchange.h"
#include "webhook/review/admission.h"
#include "webhook/review/conversion.h"

namespace dynamo::webhook {

/// Two objects of the largest size etcd takes, and the envelope: controller-runtime's limit, too.
inline constexpr std::size_t kMaxAdmissionBody = std::size_t{7} << 20;
/// Of kinds with a dry render, which makes some twenty times of an object: bodies from this size on, all of
/// them, are handled off the I/O threads. An update of a graph of four services has 25 KB and takes a
/// millisecond, a hundred services of 8 bytes take several.
inline constexpr std::size_t kHeavyGraph = 0;
/// A list of 10,000 objects of 10 KB is 100 MB.
inline constexpr std::size_t kMaxConversionBody = std::size_t{256} << 20;

inline constexpr std::string_view kConvertPath = "/convert";

enum class Role { Mutate, Validate };

/// One admission path.
struct AdmissionRoute {
  std::string path;  ///< "/validate-nvidia-com-v1alpha1-dynamographdeployment"
  Role role;
  AdmissionKind kind;
};

/// Every admission path, in the order of the documentation.
std::span<const AdmissionRoute> admissionRoutes();

/// How a request ended.
struct RequestEnd {
  int status = 0;  ///< HTTP
  bool threw = false;
  bool own = false;  ///< our own canned review
  double seconds = 0;
};

/// Who wants to know of requests; any member may be empty.
struct Observers {
  /// Of what was judged.
  std::function<void(const AdmissionRoute&, const AdmissionOutcome&, double seconds)> admission;
  std::function<void(const ConversionOutcome&, double seconds)> conversion;
  // Of what was refused alone, so that what is allowed pays nothing for it; of objects that cannot be read
  // too.
  std::function<void(const AdmissionRoute&, const AdmissionOutcome&)> denied;
  std::function<void(const ConversionOutcome&)> conversionFailed;
  // Of each request, once each, whatever becomes of it.
  std::function<void(std::string_view path)> started;
  std::function<void(std::string_view path, const RequestEnd&)> finished;
};

/// Path to route; immutable once made, so any thread may look paths up.
class Routes {
 public:
  Routes(Policy policy, Observers observers);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  const Route* find(std::string_view path) const;

 private:
  Policy policy_;
  Observers observers_;
  std::map<std::string, Route, std::less<>> routes_;
};

}  // namespace dynamo::webhook

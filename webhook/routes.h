#pragma once
// The table of HTTP paths and their handlers.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "webhook/current_settings.h"
#include "webhook/http/exchange.h"
#include "webhook/review/admission.h"
#include "webhook/review/conversion.h"

namespace dynamo::webhook {

/// Room for two objects of etcd's maximum size and the envelope; controller-runtime has the same limit.
inline constexpr std::size_t kMaxAdmissionBody = std::size_t{7} << 20;
/// Bodies of this size and above are handled on worker threads, for kinds with a dry render. Zero means every
/// body, because a dry render produces about twenty times the size of an object: an update of a graph with
/// four services has 25 KB and takes a millisecond, and a hundred services of 8 bytes take several.
inline constexpr std::size_t kHeavyRenderedBody = 0;
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
  int status = 0;  ///< HTTP status
  bool threw = false;
  bool selfCheck = false;  ///< a sample review of /readyz
  double seconds = 0;
};

/// Callbacks for metrics and logs; any member may be empty.
struct Observers {
  /// Reviews that were validated or defaulted.
  std::function<void(const AdmissionRoute&, const AdmissionOutcome&, double seconds)> admission;
  std::function<void(const ConversionOutcome&, double seconds)> conversion;
  // Only denials, so that allowed requests cost nothing. Includes objects that cannot be read.
  std::function<void(const AdmissionRoute&, const AdmissionOutcome&)> denied;
  std::function<void(const ConversionOutcome&)> conversionFailed;
  // Every request, exactly once each, whatever its outcome.
  std::function<void(std::string_view path)> started;
  std::function<void(std::string_view path, const RequestEnd&)> finished;
};

/// Maps paths to routes. It never changes after construction, so any thread may look up paths.
class Routes {
 public:
  Routes(std::shared_ptr<CurrentSettings> settings, Observers observers);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  const Route* find(std::string_view path) const;

 private:
  std::shared_ptr<CurrentSettings> settings_;
  Observers observers_;
  std::map<std::string, Route, std::less<>> routes_;
};

}  // namespace dynamo::webhook

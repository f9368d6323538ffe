#pragma once
// Calls the handlers of the paths directly, without a server.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/parse.h"
#include "webhook/routes.h"

namespace dynamo::webhook::test {

inline constexpr std::string_view kMutate = "/mutate-nvidia-com-v1beta1-dynamographdeploymentrequest";
inline constexpr std::string_view kValidate = "/validate-nvidia-com-v1beta1-dynamographdeploymentrequest";
inline constexpr std::string_view kConvert = "/convert";

/// The settings with version 1.2.3, GPU discovery available and rules enforced.
std::shared_ptr<admission::Settings> usualSettings();

std::shared_ptr<CurrentSettings> current(CurrentSettings::Pointer settings = usualSettings());

/// The reply of the handler of `path`, which must exist.
Reply ask(std::string_view path, std::string body,
          const CurrentSettings::Pointer& settings = usualSettings());

/// A v1beta1 request named "r" in namespace "ns" with `spec` (JSON) and further members, e.g. `,"status":{}`.
std::string dgdr(std::string_view spec, std::string_view more = {});

/// A valid request.
std::string goodDgdr();

/// An AdmissionReview with uid "u" of a v1beta1 client. With an empty `old` it has no oldObject.
std::string review(std::string_view operation, std::string_view object, std::string_view old = {},
                   std::string_view clientVersion = "v1beta1");

/// The answer as one line for tables: `400 <message>`, `allowed`, `allowed [warning] [warning]` or `denied
/// 422 Invalid: <message>`, which may have warnings too. Fails the test when a required member of the answer
/// is missing.
std::string outcome(const Reply& reply, std::string_view uid = "u");

/// The answer as JSON; fails the test when it does not parse.
json::Document parsed(const Reply& reply);

/// The patch of an allowed answer, base64-decoded; empty when there is none.
std::string patchOf(const Reply& reply);

std::vector<std::string> warningsOf(const Reply& reply);

}  // namespace dynamo::webhook::test

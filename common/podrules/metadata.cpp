// Labels and annotations.

#include <fmt/format.h>

#include "common/k8s/names.h"
#include "common/podrules/parts.h"
#include "common/podrules/rules.h"

namespace dynamo::podrules {

void labels(const Report& report, const json::Value* map, const At& at) {
  forEachMember(map, at, [&](std::string_view key, const json::Value& value, const At& place) {
    report.check(place, key, k8s::qualifiedNameProblem(key), rule::kLabel);
    if (value.IsString()) {
      report.check(place, json::text(value), k8s::labelValueProblem(json::text(value)), rule::kLabel);
    }
  });
}

void annotations(const Report& report, const json::Value* map, const At& at) {
  std::size_t bytes = 0;
  forEachMember(map, at, [&](std::string_view key, const json::Value& value, const At& place) {
    report.check(place, key, k8s::annotationKeyProblem(key), rule::kAnnotation);
    bytes += key.size() + json::text(value).size();
  });
  if (bytes <= k8s::kMaxAnnotationBytes) return;
  report.refused(at, fmt::format("may hold {} bytes at most (it has {})", k8s::kMaxAnnotationBytes, bytes),
                 rule::kAnnotation);
}

}  // namespace dynamo::podrules

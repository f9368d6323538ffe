#pragma once
// Requests of v1beta1 and their profiling Jobs.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "common/render/object.h"
#include "support.h"

namespace dynamo::render::test {

/// The text of a request "r" in namespace "ns" with these members of its spec, besides model, image and
/// hardware.
inline std::string request(std::string_view spec = "", std::string_view annotations = "") {
  return fmt::format(
      R"({{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest","metadata":{{"name":"r",)"
      R"("namespace":"ns","uid":"u-1","annotations":{{{}}}}},"spec":{{"model":"m","image":"i:1",)"
      R"("hardware":{{"gpuSku":"h200_sxm","vramMb":141000,"numGpusPerNode":8}}{}{}}}}})",
      annotations, spec.empty() ? "" : ",", spec);
}

/// The same with an override: members of the pod, of the only container, and of the Job.
inline std::string overridden(std::string_view pod, std::string_view container = "",
                              std::string_view job = "", std::string_view spec = "") {
  return request(fmt::format(
      R"({}"overrides":{{"profilingJob":{{"template":{{"spec":{{"containers":[{{"name":"any"{}}}]{}}}}}{}}}}})",
      spec, container, pod, job));
}

/// What is rendered from the text of a request.
inline Children profiled(std::string_view text, const Setup& setup = Setup{}) {
  return renderProfiling(parsed(text), setup.context());
}

/// The Job among children without errors.
inline const json::Value& jobOf(const Children& children) {
  INFO(errorsOf(children));
  REQUIRE(children.errors.empty());
  REQUIRE_FALSE(children.items.empty());
  const Child& last = children.items.back();
  REQUIRE(last.key.kind == "Job");
  return last.object;
}

/// What stands at `path` ("spec.template.spec.volumes") of the Job; "" when there is nothing.
inline std::string at(const Children& children, const field::Path& path) {
  const json::Value* value = field::valueAt(jobOf(children), path);
  return value == nullptr ? std::string{} : json::dump(*value);
}

inline const field::Path kPodSpec{"spec.template.spec"};
inline const field::Path kProfiler = (kPodSpec / "containers")[0];
inline const field::Path kCopier = (kPodSpec / "containers")[1];

}  // namespace dynamo::render::test

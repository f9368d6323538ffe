// What admission says of a request is what an API server would say of its profiling Job. Over the samples,
// and over generated requests of both versions: DYNAMO_LAW_OBJECTS sets how many.

#include <cstdlib>
#include <random>
#include <vector>

#include "common/admission/dgdr.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/defaults/dgdr.h"
#include "common/k8s/object.h"
#include "common/rules/pod/pod.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/text/manifests.h"
#include "profiling_support.h"
#include "tests/unit/conversion/generator.h"
#include "tests/unit/source_dir.h"

namespace dynamo::render::test {
namespace {

using json::Allocator;
using json::Value;

std::uint64_t objects() {
  const char* set = std::getenv("DYNAMO_LAW_OBJECTS");
  return set == nullptr ? 20000 : std::strtoull(set, nullptr, 10);
}

field::Findings judged(const Value& job) {
  field::Findings findings;
  rules::pod::checkJob(*specOf(job), {}, findings);
  return findings;
}

std::string linesOf(const field::Findings& findings) {
  std::string text;
  for (const auto& error : findings.errors) text += error.message() + '\n';
  for (const auto& warning : findings.warnings) text += warning.field.text() + ": " + warning.text + '\n';
  return text;
}

/// The request as it is stored.
Value stored(const Value& given, Allocator& allocator) {
  Value object;
  REQUIRE_FALSE(conversion::convertDgdr(given, api::kV1beta1, object, allocator));
  const auto* node = schema::find(api::kV1beta1, api::kDynamoGraphDeploymentRequest);
  schema::applySchemaDefaults(*node, object, allocator);
  k8s::ensureNamespace(object, "ns", allocator);
  defaults::defaultDgdr(object, "1.0.0", allocator);
  return object;
}

TEST_CASE("nothing is wrong with the profiling Jobs of the samples") {
  const Setup setup;
  for (const char* sample : {"deploy/samples/dgdr-v1alpha1.yaml", "deploy/samples/dgdr-v1beta1.yaml"}) {
    INFO(sample);
    const text::Manifests read = text::readManifests({dynamo::test::sourceFile(sample)});
    REQUIRE(read.objects.size() == 1);
    json::Document memory;
    const Value object = stored(read.objects[0].object, memory.GetAllocator());
    CHECK(linesOf(judged(jobOf(renderProfiling(object, setup.context())))).empty());
  }
}

/// Members of the pod, of its container and of the Job, good and bad ones.
constexpr const char* kPod[] = {
    R"("tolerations":[{"key":"a","operator":"In"}])",
    R"("tolerations":[{"key":"a","operator":"Exists"}])",
    R"("nodeSelector":{"a b":"c"})",
    R"("nodeSelector":{"a":"b"})",
    R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}})",
    R"("dnsPolicy":"None")",
    R"("dnsConfig":{"nameservers":["10.0.0.1"]})",
    R"("terminationGracePeriodSeconds":-1)",
    R"("automountServiceAccountToken":false)",
    R"("serviceAccountName":"Mine")",
    R"("serviceAccountName":"mine")",
    R"("imagePullSecrets":[{},{"name":"B"},{"name":"b"}])",
    R"("volumes":[{"name":"v","emptyDir":{}},{"name":"w","hostPath":{"path":""}}])",
    R"("volumes":[{"name":"profiling-output"},{"name":"model-cache","emptyDir":{}}])",
    R"("volumes":[{"name":"v","configMap":{"name":"A B"}},{"name":"output-copier-token","emptyDir":{}}])",
    R"("initContainers":[{"name":"profiler","image":"i"},{"name":"output-copier","image":"i"}])",
    R"("initContainers":[{"name":"a","image":"i","volumeMounts":[{"name":"v","mountPath":"/v"}]}])",
    R"("resourceClaims":[{"name":"c"}])",
    R"("securityContext":{"runAsUser":-1,"sysctls":[{"name":"a b","value":"c"}]})",
    R"("securityContext":{"windowsOptions":{"hostProcess":true}})",
    R"("securityContext":{"fsGroupChangePolicy":"Never","runAsNonRoot":false})"};
constexpr const char* kContainer[] = {
    R"("image":" i")",
    R"("image":"i:2")",
    R"("resources":{"requests":{"nvidia.com/gpu":1},"claims":[{"name":"c"}]})",
    R"("resources":{"limits":{"cpu":"1"},"requests":{"cpu":"2"}})",
    R"("securityContext":{"privileged":true,"allowPrivilegeEscalation":false})",
    R"("securityContext":{"runAsUser":0})",
    R"("env":[{"name":"A=B","value":"c"},{"name":"DGDR_UID","valueFrom":{}}])",
    R"("env":[{"name":"NATS_SERVER","value":"n"},{"name":"A","valueFrom":{"secretKeyRef":{"key":"k"}}}])",
    R"("volumeMounts":[{"name":"v","mountPath":"/v"},{"name":"v","mountPath":"/v"}])",
    R"("volumeMounts":[{"name":"v","mountPath":"/data"},{"name":"x","mountPath":"/x","subPath":"../a"}])",
    R"("volumeMounts":[{"name":"model-cache","mountPath":"/opt/model-cache"},{"name":"profiling-config","mountPath":""}])",
    R"("envFrom":[{},{"secretRef":{"name":"s"}},{"prefix":"=","configMapRef":{"name":"c"}}])"};
constexpr const char* kJob[] = {R"("backoffLimit":-1)", R"("backoffLimit":2)",
                                R"("activeDeadlineSeconds":-1)", R"("parallelism":-2)", R"("suspend":true)"};

class Overrides {
 public:
  explicit Overrides(std::uint64_t seed) : random_(seed) {}

  /// Gives some requests an override, a model cache in the way of other mounts, or a ConfigMap.
  void add(Value& request, Allocator& allocator) {
    Value& spec = json::ensureObject(request, "spec", allocator);
    if (below(4) == 0) set(spec, "modelCache", cacheText(), allocator);
    if (below(6) == 0) {
      Value& annotations =
          json::ensureObject(json::ensureObject(request, "metadata", allocator), "annotations", allocator);
      set(annotations, "nvidia.com/dgdr-config-map-ref", R"("{\"name\":\"b\"}")", allocator);
    }
    if (below(3) == 0) return;
    Value& overrides = json::ensureObject(spec, "overrides", allocator);
    const std::string container = members(kContainer, R"("name":"a")");
    set(overrides, "profilingJob",
        fmt::format(R"({{"template":{{"metadata":{{"labels":{{"a{}":"b"}}}},"spec":{{{}}}}}{}}})",
                    below(8) == 0 ? " " : "", members(kPod, R"("containers":[{)" + container + "}]"),
                    after(kJob)),
        allocator);
  }

 private:
  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>{0, bound - 1}(random_);
  }

  std::string cacheText() {
    constexpr const char* kPaths[] = {"", "/data", "/data/", "/config", "/opt/model-cache", "/m:n", "m"};
    return fmt::format(R"({{"pvcName":"{}","pvcMountPath":"{}"}})", below(5) == 0 ? "C c" : "c",
                       kPaths[below(std::size(kPaths))]);
  }

  /// ",member" for some of the table; of each name one at most.
  template <std::size_t N>
  std::string after(const char* const (&table)[N]) {
    std::string text;
    for (const char* member : table) {
      const std::string_view name = std::string_view{member}.substr(0, std::string_view{member}.find(':'));
      if (below(6) == 0 && text.find(name) == std::string::npos) text += std::string{","} + member;
    }
    return text;
  }
  template <std::size_t N>
  std::string members(const char* const (&table)[N], const std::string& first) {
    return first + after(table);
  }

  static void set(Value& object, std::string_view key, const std::string& text, Allocator& allocator) {
    json::set(object, key, json::copy(parsed(text), allocator), allocator);
  }

  std::mt19937_64 random_;
};

TEST_CASE("an API server takes the profiling Job of a request that admission accepts") {
  const Setup setup;
  const rules::DgdrPolicy policy;
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  std::vector<char> memory(std::size_t{1} << 20U);
  for (std::uint64_t seed = 0; seed < objects(); ++seed) {
    Allocator allocator{memory.data(), memory.size()};
    dynamo::test::Generator generator{seed, allocator};
    Value object = stored(seed % 3 == 0 ? generator.alpha() : generator.beta(), allocator);
    Overrides{seed}.add(object, allocator);
    const field::Findings said = admission::validateDgdr({object, nullptr, "v1beta1", policy});
    const Children children = renderProfiling(object, setup.context());
    if (!children.errors.empty()) continue;
    const field::Findings found = judged(jobOf(children));
    // Rules about requests refuse more than API servers do: only what is accepted must be good.
    if (said.errors.empty() && !found.errors.empty()) {
      FAIL("seed " << seed << "\n" << linesOf(found) << "of " << json::dump(object));
    }
    good += said.errors.empty() ? 1 : 0;
    bad += found.errors.empty() ? 0 : 1;
    for (const auto& error : said.errors) {
      const bool told = error.rule.starts_with("pod.") || error.rule.starts_with("job.");
      static const field::Path kGraph{"spec.overrides.dgd"};
      if (told && found.errors.empty() && found.warnings.empty() && !error.field.isWithin(kGraph)) {
        FAIL("seed " << seed << "\n" << error.message() << "\nof " << json::dump(object));
      }
    }
  }
  INFO("good " << good << ", bad " << bad);
  CHECK(good > objects() / 20);
  CHECK(bad > objects() / 20);
}

}  // namespace
}  // namespace dynamo::render::test

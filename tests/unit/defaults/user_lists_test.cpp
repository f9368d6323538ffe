// UPDATE of an object whose lists an earlier release completed (decision dec-14): which requests remove the
// items of the webhook from a list of the user.

#include <array>
#include <catch2/catch.hpp>

#include "common/api/dynamo.h"
#include "tests/unit/defaults/api_server.h"
#include "tests/unit/defaults/support.h"

namespace dynamo {
namespace {

using json::Allocator;
using json::Value;

const char* const kComplete = R"({"userLists":"complete"})";
const char* const kService =
    R"({"componentType":"epp","extraPodSpec":{"volumes":[{"name":"own","emptyDir":{}}],"mainContainer":{
        "image":"i:1","volumeMounts":[{"name":"own","mountPath":"/own"}],"env":[{"name":"OWN","value":"1"}]}}})";
const char* const kBare = R"({"componentType":"epp","extraPodSpec":{"mainContainer":{"image":"i:1"}}})";

Value graphOf(const char* service, Allocator& allocator) {
  return test::parse(std::string{R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",
      "metadata":{"name":"g","namespace":"ns"},"spec":{"services":{"a":)"} +
                         service + "}}}",
                     allocator);
}

/// A standalone component with the same spec.
Value componentOf(const char* service, Allocator& allocator) {
  return test::parse(std::string{R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment",
      "metadata":{"name":"g","namespace":"ns"},"spec":)"} +
                         service + "}",
                     allocator);
}

std::size_t sizeOf(const Value& object, const std::string& list) {
  for (const char* component : {"/spec/services/a/extraPodSpec", "/spec/extraPodSpec"}) {
    const std::string pointer = component + list;
    const Value* found = rapidjson::GenericPointer<Value>{pointer.data(), pointer.size()}.Get(object);
    if (found != nullptr) return found->Size();
  }
  return 0;
}

/// The sizes of volumes, volumeMounts and env.
using Sizes = std::array<std::size_t, 3>;

Sizes sizesOf(const Value& object) {
  return {sizeOf(object, "/volumes"), sizeOf(object, "/mainContainer/volumeMounts"),
          sizeOf(object, "/mainContainer/env")};
}

struct Row {
  const char* what;
  const char* patch;  ///< RFC 7386, over the stored service
  Sizes wanted;
};

const Row kRows[] = {
    {"replicas only: the stored lists stay", R"({"replicas":3})", {3, 3, 11}},
    {"labels only", R"({"labels":{"a":"b"}})", {3, 3, 11}},
    {"the manifest's variables",
     R"({"extraPodSpec":{"mainContainer":{"env":[{"name":"OWN","value":"1"}]}}})",
     {3, 3, 1}},
    {"the manifest's variables and replicas",
     R"({"replicas":3,"extraPodSpec":{"mainContainer":{"env":[{"name":"OWN","value":"1"}]}}})",
     {3, 3, 1}},
    {"the manifest's volumes", R"({"extraPodSpec":{"volumes":[{"name":"own","emptyDir":{}}]}})", {1, 3, 11}},
    {"the manifest's mounts",
     R"({"extraPodSpec":{"mainContainer":{"volumeMounts":[{"name":"own","mountPath":"/own"}]}}})",
     {3, 1, 11}},
    {"one item of the webhook removed",
     R"({"extraPodSpec":{"volumes":[{"name":"own","emptyDir":{}},{"name":"hf-cache","emptyDir":{}}]}})",
     {1, 3, 11}},
    {"another image: all defaults are derived again",
     R"({"extraPodSpec":{"mainContainer":{"image":"i:2"}}})",
     {1, 1, 1}},
    {"the user's list removed: the webhook's list follows",
     R"({"extraPodSpec":{"mainContainer":{"env":null}}})",
     {1, 1, 10}},
    {"the user's list emptied", R"({"extraPodSpec":{"mainContainer":{"env":[]}}})", {1, 1, 0}},
};

TEST_CASE("a request that drops items of the webhook from a list of the user removes them") {
  const test::Admission earlier{kComplete};
  const test::Admission admission;
  for (const bool graph : {true, false}) {
    for (const Row& row : kRows) {
      INFO(row.what << (graph ? "" : ", standalone component"));
      Allocator allocator;
      const Value manifest = graph ? graphOf(kService, allocator) : componentOf(kService, allocator);
      const Value stored = earlier.create(manifest, allocator);
      REQUIRE(sizesOf(stored) == Sizes{3, 3, 11});
      Value request = json::copy(stored, allocator);
      Value& spec = *json::find(request, "spec");
      Value& component = graph ? *json::find(*json::find(spec, "services"), "a") : spec;
      model::mergePatch(component, test::parse(row.patch, allocator), allocator);
      const Value updated = admission.update(request, stored, allocator);
      CHECK(sizesOf(updated) == row.wanted);
      CHECK(json::equal(updated, admission.update(updated, stored, allocator)));
      CHECK(json::equal(updated, admission.update(updated, updated, allocator)));
      CHECK(json::equal(updated, earlier.update(updated, updated, allocator)));
    }
  }
}

TEST_CASE("a list that is the webhook's alone is restored") {
  const test::Admission admission;
  Allocator allocator;
  const Value stored = admission.create(graphOf(kBare, allocator), allocator);
  const Sizes all = sizesOf(stored);
  CHECK(all == Sizes{2, 2, 10});
  Value request = json::copy(stored, allocator);
  model::mergePatch(request,
                    test::parse(R"({"spec":{"services":{"a":{"extraPodSpec":{"mainContainer":{"env":[
                        {"name":"POD_NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}}}}}})",
                                allocator),
                    allocator);
  CHECK(sizesOf(admission.update(request, stored, allocator)) == all);
}

TEST_CASE("items stay if pods would get others, because the configuration has changed since") {
  test::Admission earlier{kComplete};
  earlier.config.infrastructure.natsAddress = "nats://before:4222";
  test::Admission admission;
  admission.config.infrastructure.natsAddress = "nats://now:4222";
  Allocator allocator;
  const Value manifest = graphOf(kService, allocator);
  const Value stored = earlier.create(manifest, allocator);
  const Value applied =
      admission.update(test::clientSideApply(stored, manifest, allocator), stored, allocator);
  CHECK(sizesOf(applied) == Sizes{1, 1, 12});
  // With the user's consent the pods get the new defaults.
  Value renewed = json::copy(applied, allocator);
  model::mergePatch(
      renewed, test::parse(R"({"metadata":{"annotations":{"nvidia.com/dynamo-redefault":"1"}}})", allocator),
      allocator);
  CHECK(sizesOf(admission.update(renewed, applied, allocator)) == Sizes{1, 1, 1});
}

TEST_CASE("useAsCompilationCache: false of an earlier schema goes, the other defaults stay") {
  const test::Admission earlier;
  const test::Admission admission{R"({"common":{"podSpec":{"terminationGracePeriodSeconds":90}}})"};
  Allocator allocator;
  const Value manifest =
      graphOf(R"({"componentType":"worker","volumeMounts":[{"name":"m","mountPoint":"/m"}]})", allocator);
  const Value given = graphOf(
      R"({"componentType":"worker","volumeMounts":[{"name":"m","mountPoint":"/m","useAsCompilationCache":false}]})",
      allocator);
  const Value stored = earlier.create(given, allocator);
  const Value applied =
      admission.update(test::clientSideApply(stored, manifest, allocator), stored, allocator);
  const std::string service = "/spec/services/a";
  CHECK(test::at(applied, service + "/volumeMounts") == R"([{"name":"m","mountPoint":"/m"}])");
  CHECK(test::at(applied, service + "/extraPodSpec/terminationGracePeriodSeconds") == "60");
  CHECK(json::equal(
      applied, admission.update(test::clientSideApply(applied, manifest, allocator), applied, allocator)));
}

TEST_CASE("with userLists complete, dropped items are restored") {
  const test::Admission admission{kComplete};
  Allocator allocator;
  const Value manifest = graphOf(kService, allocator);
  const Value stored = admission.create(manifest, allocator);
  CHECK(json::equal(stored,
                    admission.update(test::clientSideApply(stored, manifest, allocator), stored, allocator)));
}

TEST_CASE("the defaults of pods are added to lists of the user and replace empty values") {
  const test::Admission admission;
  Allocator allocator;
  const Value stored = admission.create(
      graphOf(
          R"({"componentType":"epp","sharedMemory":{"size":"0"},"extraPodSpec":{"serviceAccountName":"","volumes":[{"name":"own","emptyDir":{}}],
              "mainContainer":{"image":"i:1","livenessProbe":{"periodSeconds":7},"env":[{"name":"OWN","value":"1"}]}}})",
          allocator),
      allocator);
  CHECK(sizesOf(stored) == Sizes{1, 2, 1});
  const Value all = admission.withDefaultsOfPods(stored, allocator);
  CHECK(sizesOf(all) == Sizes{3, 2, 11});
  const std::string service = "/spec/services/a";
  CHECK(test::at(all, service + "/sharedMemory/size") == R"("8Gi")");
  CHECK(test::at(all, service + "/extraPodSpec/serviceAccountName") == R"("epp-serviceaccount")");
  CHECK(test::at(all, service + "/extraPodSpec/mainContainer/livenessProbe/periodSeconds") == "7");
  CHECK(test::at(all, service + "/extraPodSpec/mainContainer/livenessProbe/grpc/port") != "-");
  CHECK(test::at(all, service + "/extraPodSpec/volumes/0/name") == R"("own")");
  CHECK(test::at(all, service + "/extraPodSpec/mainContainer/env/0/name") == R"("OWN")");
  CHECK(test::at(all, "/metadata") == test::at(stored, "/metadata"));
}

}  // namespace
}  // namespace dynamo

// The text of the record. It is stored in objects, so a change of it is a change of a format.

#include <catch2/catch.hpp>

#include "common/defaults/digest.h"
#include "common/defaults/record.h"
#include "common/model/placeholders.h"
#include "tests/unit/defaults/support.h"

namespace dynamo {
namespace {

using json::Allocator;
using json::Value;

/// Few defaults, so the record is readable.
const char* const kSmall =
    R"({"userLists":"complete","common":{"sharedMemory":null,"podSpec":{"restartPolicy":null,
    "terminationGracePeriodSeconds":null},"mainContainer":{"command":null,"env":{"DYN_NAMESPACE":null,
    "DYN_PARENT_DGD_K8S_NAME":null,"DYN_PARENT_DGD_K8S_NAMESPACE":null,"POD_NAME":null,"POD_NAMESPACE":null}}}})";

std::string recordOf(const char* overlay, const std::string& object) {
  Allocator allocator;
  const test::Admission admission{overlay};
  const Value stored = admission.create(test::parse(object, allocator), allocator);
  return std::string{defaults::annotationOf(&stored, "nvidia.com/dynamo-defaulted")};
}

TEST_CASE("text of the record") {
  CHECK(recordOf(
            kSmall,
            R"({"kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"ns"},"spec":{"services":{
      "b":{"replicas":2,"extraPodSpec":{"securityContext":{},"serviceAccountName":"x","mainContainer":{"env":[
          {"name":"POD_UID","value":"1"},{"name":"DYN_COMPONENT"},{"name":"DYN_DISCOVERY_BACKEND"}]}}},
      "a":{"extraPodSpec":{"mainContainer":{"env":[]}}}}}})") ==
        R"({"v":1,"metadata":{"annotations":{"nvidia.com/dynamo-operator-origin-version":"bHU2Rc"}},)"
        R"("spec":{"services":{)"
        R"("a":{"extraPodSpec":{"securityContext":"UfBsAB","serviceAccountName":"wP-ALt",)"
        R"("mainContainer":{"env":{".":1,"DYN_COMPONENT":"6uFzaO","DYN_DISCOVERY_BACKEND":"u996tO",)"
        R"("POD_UID":"OxRyjq"}}},"=":"DFTDAm","replicas":"LksQuD"}}}})");
  CHECK(recordOf(kSmall, R"({"kind":"DynamoComponentDeployment","metadata":{"name":"c","namespace":"ns"},
      "spec":{"componentType":"default"}})") ==
        R"({"v":1,"spec":{"extraPodSpec":{"securityContext":"UfBsAB","serviceAccountName":"fKkRiN",)"
        R"("mainContainer":{"env":{"DYN_COMPONENT":"zcGnJ9","DYN_DISCOVERY_BACKEND":"u996tO",)"
        R"("POD_UID":"OxRyjq"}}},"=":"E6AGdF"}})");
}

TEST_CASE("values that the API server treats as equal have the same digest") {
  struct Row {
    const char* a;
    const char* b;
    bool same;
  };
  const Row row = GENERATE(values<Row>({
      {R"({"a":1,"b":[true,null]})", R"({"b":[true,null],"a":1.0})", true},
      {R"({"a":1,"c":null})", R"({"a":1})", true},
      {"-0.0", "0", true},
      {"1e3", "1000", true},
      {"[1,2]", "[2,1]", false},
      {R"({"a":"b"})", R"({"b":"a"})", false},
      {R"({"a":{"b":1},"c":{}})", R"({"a":{},"c":{"b":1}})", false},
      {R"("1")", "1", false},
      {"{}", "[]", false},
      {R"("")", "null", false},
      {"true", "false", false},
      {"1.5", "1", false},
  }));
  INFO(row.a << " " << row.b);
  Allocator allocator;
  CHECK((defaults::digestOf(test::parse(row.a, allocator)) ==
         defaults::digestOf(test::parse(row.b, allocator))) == row.same);
}

TEST_CASE("digests are stable because objects store them") {
  Allocator allocator;
  CHECK(defaults::digestOf(test::parse("1", allocator)) == "LksQuD");
  CHECK(defaults::digestOf(test::parse(R"("Always")", allocator)) == "N-y-7m");
  CHECK(defaults::digestOf(test::parse(R"({"fsGroup":1000})", allocator)) == "UfBsAB");
  CHECK(defaults::digestOf(test::parse(R"(["/bin/sh","-c"])", allocator)) == "Am73hq");
  CHECK(defaults::digestOf(test::parse("0.25", allocator)) == "9o8l0a");
}

TEST_CASE("a parent that the user wrote empty stays when its defaults are removed") {
  const char* service =
      GENERATE(R"({})", R"({"extraPodSpec":{}})", R"({"extraPodSpec":{"mainContainer":{}}})",
               R"({"extraPodSpec":{"mainContainer":{"env":[]},"volumes":[]},"sharedMemory":{}})");
  Allocator allocator;
  const test::Admission admission;
  const Value graph =
      test::parse(R"({"kind":"DynamoGraphDeployment","metadata":{"name":"g"},"spec":{"services":{"a":)" +
                      std::string{service} + "}}}",
                  allocator);
  const Value stored = admission.create(graph, allocator);
  CHECK(test::at(defaults::intent(stored, allocator), "/spec/services/a") == service);
  const Value again = admission.update(graph, stored, allocator);
  CHECK(json::equal(again, stored));
}

TEST_CASE("defaults that do not fit into the record are left to rendering") {
  std::string env;
  for (int i = 1000; i < 1100; ++i) env += ",\"VARIABLE_WITH_A_LONG_NAME_" + std::to_string(i) + "\":\"x\"";
  const std::string overlay = R"({"common":{"mainContainer":{"env":{"A":"b")" + env + "}}}}";
  Allocator allocator;
  const test::Admission admission{overlay};
  const Value graph = test::parse(
      R"({"kind":"DynamoGraphDeployment","metadata":{"name":"g"},"spec":{"services":{"a":{}}}})", allocator);
  const Value stored = admission.create(graph, allocator);
  const defaults::Record record{&stored};
  const std::size_t size = json::dump(*record.service("a")).size();
  CHECK(size > 900);
  CHECK(size <= defaults::kMaxTrie);
  CHECK(test::at(stored, "/spec/services/a/extraPodSpec/mainContainer/env/0/name") == R"("A")");
  CHECK(test::at(stored, "/spec/services/a/extraPodSpec/mainContainer/env/40") == "-");
  CHECK(test::at(defaults::intent(stored, allocator), "/spec/services/a") == "{}");
  CHECK(json::equal(admission.update(stored, stored, allocator), stored));
}

TEST_CASE("invalid records count as absent") {
  const char* text = GENERATE("", "x", "[]", "{}", R"({"v":"1"})", R"({"v":0})", R"({"v":1,"v":1})");
  Allocator allocator;
  Value object = test::parse(R"({"metadata":{"annotations":{"nvidia.com/dynamo-defaulted":""}}})", allocator);
  json::set(*json::find(*json::find(object, "metadata"), "annotations"), "nvidia.com/dynamo-defaulted",
            json::string(text, allocator), allocator);
  const defaults::Record record{&object};
  CHECK_FALSE(record.present());
  CHECK_FALSE(record.newer());
  CHECK(record.service("a") == nullptr);
  CHECK(record.component() == nullptr);
  CHECK(record.stamp().empty());
}

TEST_CASE("records with unexpected types are ignored") {
  const char* text = GENERATE(
      R"({"v":1,"spec":[]})", R"({"v":1,"spec":{"services":1}})", R"({"v":1,"spec":{"services":{"a":"x"}}})",
      R"({"v":1,"spec":{"services":{"a":{"componentType":{"x":"y"},"envs":"short","extraPodSpec":{"":1}}}}})",
      R"({"v":1,"metadata":{"annotations":{"nvidia.com/dynamo-operator-origin-version":{}}}})");
  Allocator allocator;
  const test::Admission admission;
  const Value bare = test::parse(
      R"({"kind":"DynamoGraphDeployment","metadata":{"name":"g"},"spec":{"services":{
          "a":{"componentType":"worker","envs":[{"name":"x"}]}}}})",
      allocator);
  Value object = json::copy(bare, allocator);
  model::mergePatch(object, test::parse(R"({"metadata":{"annotations":{}}})", allocator), allocator);
  json::set(*json::find(*json::find(object, "metadata"), "annotations"), "nvidia.com/dynamo-defaulted",
            json::string(text, allocator), allocator);
  CHECK(json::equal(*json::find(defaults::intent(object, allocator), "spec"), *json::find(bare, "spec")));
  CHECK(json::equal(*json::find(admission.create(object, allocator), "spec"),
                    *json::find(admission.create(bare, allocator), "spec")));
}

TEST_CASE("placeholders in defaults") {
  struct Row {
    const char* page;
    const char* wanted;  ///< "-": a placeholder has no value
    model::Placeholders names;
  };
  const Row row = GENERATE(values<Row>({
      {R"({"a":["${graph}-pool",1,null],"${graph}":"${namespace}"})",
       R"({"a":["g-pool",1,null],"${graph}":"ns"})",
       {"d", "g", "ns", "t"}},
      {R"("${dynamoNamespace}/${componentType}/${other}/$graph")",
       R"("d//${other}/$graph")",
       {"d", "g", "ns", ""}},
      {R"(["x","${graph}"])", "-", {"d", "", "ns", "t"}},
      {R"("${namespace}")", "-", {"d", "g", "", "t"}},
      {R"("${dynamoNamespace}")", "-", {"", "g", "ns", "t"}},
      {R"("graph")", R"("graph")", {}},
  }));
  INFO(row.page);
  Allocator allocator;
  const auto made = model::instantiate(test::parse(row.page, allocator), row.names, allocator);
  CHECK((made ? json::dump(*made) : "-") == row.wanted);
}

}  // namespace
}  // namespace dynamo

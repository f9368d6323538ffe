// ConversionReview: the envelope, the list and the form of the answer.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "common/json/parse.h"
#include "common/k8s/names.h"
#include "support.h"

namespace dynamo::webhook::test {
namespace {

using json::Value;

constexpr std::string_view kAlpha = "nvidia.com/v1alpha1";
constexpr std::string_view kBeta = "nvidia.com/v1beta1";

std::string alpha(std::string_view name, std::string_view model = "m") {
  return fmt::format(R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest",)"
                     R"("metadata":{{"name":"{}","namespace":"ns","uid":"uid-{}"}},"spec":{{"model":"{}",)"
                     R"("backend":"vllm","profilingConfig":{{"profilerImage":"p:1"}}}}}})",
                     name, name, model);
}

std::string conversion(std::string_view desired, std::string_view objects) {
  return fmt::format(R"({{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1",)"
                     R"("request":{{"uid":"u","desiredAPIVersion":"{}","objects":{}}}}})",
                     desired, objects);
}

/// `400 <message>`, `Failure 422 <message>` or `Success <names of the converted objects>`.
std::string converted(std::string body, std::string_view uid = "u",
                      std::string_view apiVersion = "apiextensions.k8s.io/v1") {
  const Reply reply = ask(kConvert, std::move(body));
  const json::Document answer = parsed(reply);
  if (reply.status != 200) {
    CHECK(json::findText(&answer, "status") == "Failure");
    CHECK(json::findText(&answer, "reason") == "BadRequest");
    return fmt::format("{} {}", reply.status, json::findText(&answer, "message"));
  }
  CHECK(json::findText(&answer, "apiVersion") == apiVersion);
  CHECK(json::findText(&answer, "kind") == "ConversionReview");
  CHECK(json::find(&answer, "request") == nullptr);
  const Value* response = json::find(&answer, "response");
  CHECK(json::findText(response, "uid") == uid);
  const Value* objects = json::find(response, "convertedObjects");
  REQUIRE(objects != nullptr);
  REQUIRE(objects->IsArray());
  const Value* result = json::find(response, "result");
  if (json::findText(result, "status") != "Success") {
    CHECK(objects->Empty());
    return fmt::format("{} {} {}", json::findText(result, "status"), (*result)["code"].GetInt(),
                       json::findText(result, "message"));
  }
  std::string names = "Success";
  for (const Value& object : objects->GetArray()) {
    names += fmt::format(" {}", json::findText(json::find(object, "metadata"), "name"));
  }
  return names;
}

TEST_CASE("the answer has one object per input, in order and in the desired version") {
  CHECK(converted(conversion(kBeta, "[" + alpha("a") + "," + alpha("b") + " , " + alpha("c") + "]")) ==
        "Success a b c");
  const json::Document answer = parsed(ask(kConvert, conversion(kBeta, "[" + alpha("a") + "]")));
  CHECK(json::dump(answer["response"]["convertedObjects"][0]) ==
        R"({"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest","metadata":)"
        R"({"name":"a","namespace":"ns","uid":"uid-a","annotations":{"nvidia.com/dgdr-v1alpha1-spec":)"
        R"("{\"v\":1,\"fields\":[{\"path\":\"/spec/autoApply\",\"while\":false}]}",)"
        R"("nvidia.com/dgdr-v1alpha1-status":)"
        R"("{\"v\":1,\"fields\":[{\"path\":\"/status\",\"while\":{\"state\":\"Pending\"}}]}"}},)"
        R"("spec":{"model":"m","backend":"vllm","image":"p:1","autoApply":false,"searchStrategy":"rapid"},)"
        R"("status":{"phase":"Pending"}})");
}

TEST_CASE("annotations of kubectl and managedFields are converted unchanged") {
  const std::string fields =
      R"([{"manager" : "kubectl\u002d","fieldsV1":{"f:spec":{"f:model":{}}}, "n":1.50}])";
  const std::string applied = R"("{\"a\":\"\u00e9\\n\"}\n")";
  for (const std::size_t padding : {std::size_t{0}, std::size_t{100'000}}) {
    CAPTURE(padding);
    for (const std::string_view managed :
         {std::string_view{fields}, std::string_view{"[]"}, std::string_view{"null"}}) {
      const std::string metadata = fmt::format(
          R"({{"annotations":{{"a":"1","kubectl.kubernetes.io/last-applied-configuration":{},"z":"{}"}},)"
          R"("managedFields":{},"name":"a"}})",
          applied, std::string(padding, 'z'), managed);
      const std::string object =
          R"({"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest","metadata":)" +
          metadata + R"(,"spec":{"model":"m"}})";
      const Reply reply = ask(kConvert, conversion(kAlpha, "[" + object + "," + object + "]"));
      const json::Document answer = parsed(reply);
      json::Document before;
      REQUIRE_FALSE(json::parse(object, before));
      const Value& objects = answer["response"]["convertedObjects"];
      REQUIRE(objects.Size() == 2);
      for (const Value& converted : objects.GetArray()) {
        CHECK(json::findRaw(converted["metadata"], "managedFields") != nullptr);
        for (const auto& member : before["metadata"]["annotations"].GetObject()) {
          CHECK(json::text(converted["metadata"]["annotations"][member.name]) == json::text(member.value));
        }
        CHECK(json::equal(converted["metadata"]["managedFields"], before["metadata"]["managedFields"]));
      }
      if (padding == 0)
        CHECK_THAT(reply.body, Catch::Contains(std::string{managed}) && Catch::Contains(applied));
    }
  }
}

/// A v1beta1 request with these annotations and overrides.
std::string requestWith(std::string_view annotations, std::string_view overrides) {
  return fmt::format(
      R"({{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest","metadata":{{"name":"a",)"
      R"("annotations":{}}},"spec":{{"model":"m","overrides":{}}}}})",
      annotations, overrides);
}

std::string firstOf(const Reply& reply) {
  return json::dump(parsed(reply)["response"]["convertedObjects"][0]);
}

TEST_CASE("an object of the maximum depth of an admission review survives a round trip") {
  constexpr std::size_t kInReview = 5;  // levels of the review around overrides.dgd
  std::string deep;
  for (std::size_t i = kInReview; i < json::kMaxDepth; ++i) deep += R"({"a":)";
  deep += "1" + std::string(json::kMaxDepth - kInReview, '}');
  const Reply there =
      ask(kConvert, conversion(kAlpha, "[" + requestWith("{}", R"({"dgd":)" + deep + "}") + "]"));
  const Reply back = ask(kConvert, conversion(kBeta, "[" + firstOf(there) + "]"));
  CHECK(back.body.find(deep) != std::string::npos);
}

TEST_CASE("kubectl's annotation of a small object counts towards the size of annotations") {
  const std::string applied(22'000, 'x');
  std::string containers;
  while (containers.size() < 39'000) containers += R"({"name":"ab"},)";
  containers.pop_back();
  const std::string object =
      requestWith(R"({"kubectl.kubernetes.io/last-applied-configuration":")" + applied + "\"}",
                  R"({"profilingJob":{"template":{"spec":{"containers":[)" + containers + "]}}}}");
  const json::Document answer = parsed(ask(kConvert, conversion(kAlpha, "[" + object + "]")));
  const Value& converted = answer["response"]["convertedObjects"][0];
  std::size_t size = 0;
  for (const auto& member : converted["metadata"]["annotations"].GetObject()) {
    size += json::text(member.name).size() + json::text(member.value).size();
  }
  CHECK(size > k8s::kMaxAnnotationBytes / 2);
  CHECK(size <= k8s::kMaxAnnotationBytes);
}

TEST_CASE("malformed managedFields fail the review") {
  for (const std::string_view managed : {"[{]", "{\"a\":\"\\q\"}", "[1,]", "[tru]"}) {
    CAPTURE(managed);
    const std::string object =
        fmt::format(R"({{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest","metadata":)"
                    R"({{"managedFields":{},"name":"a"}},"spec":{{"model":"m"}}}})",
                    managed);
    CHECK(ask(kConvert, conversion(kAlpha, "[" + object + "]")).status == 400);
  }
}

TEST_CASE("no objects: an empty list, not null") {
  const Reply reply = ask(kConvert, conversion(kBeta, "[]"));
  CHECK(reply.body ==
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"u",)"
        R"("convertedObjects":[],"result":{"status":"Success"}}})");
  CHECK(converted(conversion(kBeta, " [ \n ] ")) == "Success");
}

TEST_CASE("one invalid object fails the whole review with its index, name and path") {
  const std::string broken =
      R"({"apiVersion":"nvidia.com/v9","kind":"DynamoGraphDeploymentRequest","metadata":{"name":"bad",)"
      R"("namespace":"ns"}})";
  const std::string config = R"(ns/bad: apiVersion: cannot convert "nvidia.com/v9" to "nvidia.com/v1beta1": )"
                             R"(supported values: "nvidia.com/v1alpha1", "nvidia.com/v1beta1")";
  const auto object = [](std::string_view members) { return "{" + std::string{members} + "}"; };
  struct Row {
    const char* name;
    std::string objects;
    std::string expected;
  };
  const Row rows[] = {
      {"second of three", "[" + alpha("a") + "," + broken + "," + alpha("c") + "]",
       "Failure 422 object 1: " + config},
      {"the first wins", "[" + broken + "," + broken + "]", "Failure 422 object 0: " + config},
      {"null item", "[null]", "Failure 422 object 0: (no name): the item is not an object"},
      {"number item", "[" + alpha("a") + ",7]", "Failure 422 object 1: (no name): the item is not an object"},
      {"list item", "[[]]", "Failure 422 object 0: (no name): the item is not an object"},
      {"empty object", "[{}]",
       R"(Failure 422 object 0: (no name): kind: Unsupported value: "": supported values: )"
       R"("DynamoGraphDeploymentRequest")"},
      {"another kind",
       "[" + object(R"("apiVersion":"nvidia.com/v1alpha1","kind":"DynamoModel","metadata":{"name":"x"})") +
           "]",
       R"(Failure 422 object 0: x: kind: Unsupported value: "DynamoModel": supported values: )"
       R"("DynamoGraphDeploymentRequest")"},
      {"the List kind",
       "[" +
           object(
               R"("apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequestList","items":[])") +
           "]",
       "Failure 422 object 0: (no name): kind: Unsupported value: \"DynamoGraphDeploymentRequestList\": "
       "supported "
       "values: \"DynamoGraphDeploymentRequest\""},
      {"another version",
       "[" +
           object(R"("apiVersion":"nvidia.com/v1","kind":"DynamoGraphDeploymentRequest",)"
                  R"("metadata":{"name":"x"})") +
           "]",
       R"(Failure 422 object 0: x: apiVersion: cannot convert "nvidia.com/v1" to "nvidia.com/v1beta1": )"
       R"(supported values: "nvidia.com/v1alpha1", "nvidia.com/v1beta1")"},
      {"no version", "[" + object(R"("kind":"DynamoGraphDeploymentRequest")") + "]",
       R"(Failure 422 object 0: (no name): apiVersion: cannot convert "" to "nvidia.com/v1beta1": )"
       R"(supported values: "nvidia.com/v1alpha1", "nvidia.com/v1beta1")"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(converted(conversion(kBeta, row.objects)) == row.expected);
  }
}

TEST_CASE("an unknown desired version fails the review") {
  for (const char* version : {"nvidia.com/v1", "v1beta1", "nvidia.com/V1beta1", "nvidia.com/"}) {
    INFO(version);
    CHECK(converted(conversion(version, "[" + alpha("a") + "]")) ==
          fmt::format(
              "Failure 422 object 0: ns/a: apiVersion: cannot convert \"nvidia.com/v1alpha1\" to \"{}\": "
              "supported values: \"nvidia.com/v1alpha1\", \"nvidia.com/v1beta1\"",
              version));
  }
  CHECK(converted(conversion("", "[" + alpha("a") + "]"))
            .starts_with(
                R"(Failure 422 object 0: ns/a: apiVersion: cannot convert "nvidia.com/v1alpha1" to "": )"));
}

TEST_CASE("an object that already has the version is unchanged") {
  const std::string object = R"({"kind":"DynamoGraphDeploymentRequest","apiVersion":"nvidia.com/v1alpha1",)"
                             R"("metadata":{"name":"a","annotations":)"
                             R"({"nvidia.com/dgdr-output-pvc":"p"}},"spec":{"unknown":[1.5,null,"x"],)"
                             R"("profilingConfig":{"config":7}}})";
  const json::Document answer = parsed(ask(kConvert, conversion(kAlpha, "[" + object + "]")));
  CHECK(json::dump(answer["response"]["convertedObjects"][0]) == object);
}

std::string envelope(std::string_view members, std::string_view request) {
  return fmt::format(R"({{{},"request":{{{}}}}})", members, request);
}

TEST_CASE("envelope members may come in any order") {
  const std::string object = "[" + alpha("a") + "]";
  const std::string head = R"("kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1")";
  const std::string bodies[] = {
      envelope(head, R"("objects":)" + object + R"(,"desiredAPIVersion":"nvidia.com/v1beta1","uid":"u")"),
      envelope(head, R"("uid":"u","objects":)" + object + R"(,"desiredAPIVersion":"nvidia.com/v1beta1")"),
      envelope(head, R"("desiredAPIVersion":"nvidia.com/v1beta1","objects":)" + object + R"(,"uid":"u")"),
      R"({"request":{"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1","objects":)" + object + "}," + head +
          "}",
      R"({"request":{"objects":)" + object + R"(,"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1"},)" +
          head + "}",
      envelope(head + R"(,"later":[{"objects":[]}])",
               R"("x":{"uid":"w"},"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1","objects":)" + object +
                   R"(,"y":[1,{"a":"}"}])"),
      envelope(R"("\u006bind":"ConversionReview","apiVersion":"apiextensions.k8s.io\/v1")",
               R"("uid":"\u0075","desiredAPIVersion":"nvidia.com/v1beta1","objects":)" + object),
  };
  for (const std::string& body : bodies) {
    INFO(body);
    CHECK(converted(body) == "Success a");
  }
}

TEST_CASE("the version and the uid of the review are returned unchanged") {
  std::string body = conversion(kBeta, "[]");
  body.replace(body.find("k8s.io/v1"), 9, "k8s.io/v1beta1");
  CHECK(converted(body, "u", "apiextensions.k8s.io/v1beta1") == "Success");
  body = conversion(kBeta, "[]");
  body.replace(body.find(R"("u")"), 3, R"("\"}\\\u0000\n\u00e9/<&>")");
  CHECK(converted(body, std::string{"\"}\\\0\n\xC3\xA9/<&>", 11}) == "Success");
}

TEST_CASE("a long list") {
  std::string objects;
  std::string names = "Success";
  for (int i = 0; i < 300; ++i) {
    // The sizes differ. Some exceed the memory that is kept for one object.
    const std::string name = "n" + std::to_string(i);
    objects += (i == 0 ? "[" : ",") + alpha(name, std::string(i % 50 == 7 ? 200'000 : i, 'x'));
    names += " " + name;
  }
  CHECK(converted(conversion(kBeta, objects + "]")) == names);
  CHECK(converted(conversion(kBeta, objects + ",7]")) ==
        "Failure 422 object 300: (no name): the item is not an object");
}

TEST_CASE("converting there and back through the endpoint returns the object") {
  const std::string object = alpha("a");
  const json::Document there = parsed(ask(kConvert, conversion(kBeta, "[" + object + "]")));
  const json::Document back =
      parsed(ask(kConvert, conversion(kAlpha, json::dump(there["response"]["convertedObjects"]))));
  json::Document original;
  REQUIRE_FALSE(json::parse(object, original).has_value());
  const Value& last = back["response"]["convertedObjects"][0];
  CHECK(json::dump(last["spec"]) == json::dump(original["spec"]));
  CHECK(json::dump(last["metadata"]) == json::dump(original["metadata"]));
  CHECK(json::find(last, "status") == nullptr);
}

TEST_CASE("the observer is called with the answer") {
  std::string seen;
  Observers observers;
  observers.conversion = [&](const ConversionOutcome& outcome, double seconds) {
    seen = fmt::format("{} {} {}", outcome.objects, outcome.bytes > 100, outcome.failed);
    CHECK(seconds >= 0);
  };
  const Routes routes{current(), observers};
  const auto observed = [&](std::string body) {
    seen.clear();
    HttpRequest request{std::move(body)};
    routes.find(kConvert)->handle(request);
    return seen;
  };
  CHECK(observed(conversion(kBeta, "[" + alpha("a") + "," + alpha("b") + "]")) == "2 true false");
  CHECK(observed(conversion(kBeta, "[" + alpha("a") + ",7]")) == "1 true true");
  CHECK(observed("{}").empty());
}

}  // namespace
}  // namespace dynamo::webhook::test

// The namespaceSelector that the controller keeps.
#include "controller/scope/namespace_selector.h"

#include <catch2/catch.hpp>

#include "common/json/parse.h"

namespace dynamo::controller::test {
namespace {

json::Document parsed(const std::string& text) {
  json::Document document;
  INFO(text);
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

const ServedNamespaces kAll;
const ServedNamespaces kWithoutA{"", {"a"}};
const ServedNamespaces kWithoutAB{"", {"a", "b"}};
const ServedNamespaces kOnlyA{"a", {}};

const std::string kNotA = R"({"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["a"]})";
const std::string kNotAB = R"({"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["a","b"]})";
const std::string kInA = R"({"key":"kubernetes.io/metadata.name","operator":"In","values":["a"]})";
const std::string kInB = R"({"key":"kubernetes.io/metadata.name","operator":"In","values":["b"]})";
const std::string kProd = R"({"key":"env","operator":"In","values":["prod"]})";
const std::string kNameA = R"({"matchLabels":{"kubernetes.io/metadata.name":"a"}})";
const std::string kNameB = R"({"matchLabels":{"kubernetes.io/metadata.name":"b","env":"prod"}})";

std::string expressions(const std::string& requirements) {
  return R"({"matchExpressions":[)" + requirements + "]}";
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return '"' + text + '"';
}

std::string webhook(const std::string& name, const std::string& service, const std::string& selector) {
  const std::string config = service.empty()
                                 ? R"({"url":"https://127.0.0.1/x"})"
                                 : R"({"service":{"namespace":"dynamo","name":")" + service + R"("}})";
  return R"({"name":")" + name + R"(","clientConfig":)" + config + R"(,"namespaceSelector":)" + selector +
         "}";
}

std::string configuration(const std::string& webhooks, const std::string& annotations = {}) {
  return R"({"metadata":{"name":"c","resourceVersion":"5")" +
         (annotations.empty() ? std::string{} : R"(,"annotations":)" + annotations) + R"(},"webhooks":[)" +
         webhooks + "]}";
}

std::string recorded(const std::string& requirement) {
  return R"({"nvidia.com/dynamo-namespace-selector":)" + quoted(requirement) + "}";
}

const std::string kLock = R"({"op":"add","path":"/metadata/resourceVersion","value":"5"})";

std::string setSelector(int i, const std::string& selector) {
  return R"({"op":"add","path":"/webhooks/)" + std::to_string(i) + R"(/namespaceSelector","value":)" +
         selector + "},";
}

std::string setRecord(const std::string& requirement) {
  return R"({"op":"add","path":"/metadata/annotations/nvidia.com~1dynamo-namespace-selector","value":)" +
         quoted(requirement) + "},";
}

}  // namespace

TEST_CASE("the selector of one webhook") {
  struct Row {
    const char* title;
    std::string current;
    std::string recorded;  ///< empty: none
    ServedNamespaces served;
    std::string wanted;
  };
  const Row rows[] = {
      {"nothing is held", "{}", "", kAll, "{}"},
      {"a namespace is held", "{}", "", kWithoutA, expressions(kNotA)},
      {"it is there already", expressions(kNotA), kNotA, kWithoutA, expressions(kNotA)},
      {"another one is held too", expressions(kNotA), kNotA, kWithoutAB, expressions(kNotAB)},
      {"one is handed back", expressions(kNotAB), kNotAB, kWithoutA, expressions(kNotA)},
      {"all are handed back", expressions(kNotA), kNotA, kAll, "{}"},
      {"others have removed it", "{}", kNotA, kWithoutA, expressions(kNotA)},
      {"the record is lost", expressions(kNotA), "", kWithoutA, expressions(kNotA)},
      {"the installation's requirements stay", expressions(kProd), "", kWithoutA,
       expressions(kProd + "," + kNotA)},
      {"they stay after all are handed back", expressions(kProd + "," + kNotA), kNotA, kAll,
       expressions(kProd)},
      {"the installation excludes a namespace by name", expressions(kNotAB), "", kAll, expressions(kNotAB)},
      {"labels of the installation stay", R"({"matchLabels":{"env":"prod"}})", "", kWithoutA,
       R"({"matchLabels":{"env":"prod"},"matchExpressions":[)" + kNotA + "]}"},
      {"restricted", "{}", "", kOnlyA, expressions(kInA)},
      {"restricted, it is there already", expressions(kInA), kInA, kOnlyA, expressions(kInA)},
      {"restricted by the installation", kNameA, "", kOnlyA, kNameA},
      {"restricted by the installation to another one", kNameB, "", kOnlyA,
       R"({"matchLabels":{"env":"prod"},"matchExpressions":[)" + kInA + "]}"},
      {"restricted, other requirements on the name", expressions(kInB + "," + kProd + "," + kNotAB), "",
       kOnlyA, expressions(kProd + "," + kInA)},
      {"restricted after cluster-wide", expressions(kNotAB), kNotAB, kOnlyA, expressions(kInA)},
      {"cluster-wide after restricted", expressions(kInA), kInA, kAll, "{}"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.title);
    json::Document document;
    const json::Document current = parsed(row.current);
    json::Document before;
    if (!row.recorded.empty()) before = parsed(row.recorded);
    const json::Value wanted = wantedSelector(&current, row.recorded.empty() ? nullptr : &before, row.served,
                                              document.GetAllocator());
    CHECK(json::dump(wanted) == json::dump(parsed(row.wanted)));
    const json::Document requirement = [&] {
      json::Document out;
      static_cast<json::Value&>(out) = selectorRequirement(row.served, out.GetAllocator());
      return out;
    }();
    const json::Value again = wantedSelector(&wanted, requirement.IsObject() ? &requirement : nullptr,
                                             row.served, document.GetAllocator());
    CHECK(json::equal(again, wanted));
  }
}

TEST_CASE("an absent selector is an empty one") {
  json::Document document;
  CHECK(json::dump(wantedSelector(nullptr, nullptr, kAll, document.GetAllocator())) == "{}");
}

TEST_CASE("the patch of a configuration") {
  const WebhookService ours{"dynamo", "webhook"};
  struct Row {
    const char* title;
    std::string configuration;
    ServedNamespaces served;
    std::string patch;  ///< without the brackets and the lock; empty: none
  };
  const Row rows[] = {
      {"nothing is held", configuration(webhook("x", "webhook", "{}")), kAll, ""},
      {"one entry, no annotations", configuration(webhook("x", "webhook", "{}")), kWithoutA,
       setSelector(0, expressions(kNotA)) + R"({"op":"add","path":"/metadata/annotations","value":)" +
           recorded(kNotA) + "},"},
      {"two entries, other annotations",
       configuration(webhook("x", "webhook", "{}") + "," + webhook("y", "webhook", "{}"), R"({"o":"p"})"),
       kWithoutA, setSelector(0, expressions(kNotA)) + setSelector(1, expressions(kNotA)) + setRecord(kNotA)},
      {"nothing differs", configuration(webhook("x", "webhook", expressions(kNotA)), recorded(kNotA)),
       kWithoutA, ""},
      {"one entry was overwritten",
       configuration(webhook("x", "webhook", expressions(kNotA)) + "," + webhook("y", "webhook", "{}"),
                     recorded(kNotA)),
       kWithoutA, setSelector(1, expressions(kNotA))},
      {"all are handed back", configuration(webhook("x", "webhook", expressions(kNotA)), recorded(kNotA)),
       kAll,
       setSelector(0, "{}") +
           R"({"op":"remove","path":"/metadata/annotations/nvidia.com~1dynamo-namespace-selector"},)"},
      {"the record is lost", configuration(webhook("x", "webhook", expressions(kNotA)), R"({"o":"p"})"),
       kWithoutA, setRecord(kNotA)},
      {"the record is no JSON",
       configuration(webhook("x", "webhook", "{}"), R"({"nvidia.com/dynamo-namespace-selector":"{"})"),
       kWithoutA, setSelector(0, expressions(kNotA)) + setRecord(kNotA)},
      {"the Service of another operator", configuration(webhook("x", "other", "{}")), kWithoutA, ""},
      {"one entry of another operator",
       configuration(webhook("x", "other", "{}") + "," + webhook("y", "webhook", "{}"), R"({"o":"p"})"),
       kWithoutA, setSelector(1, expressions(kNotA)) + setRecord(kNotA)},
      {"a URL", configuration(webhook("x", "", "{}"), R"({"o":"p"})"), kWithoutA,
       setSelector(0, expressions(kNotA)) + setRecord(kNotA)},
      {"no webhooks", R"({"metadata":{"name":"c"}})", kWithoutA, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.title);
    const std::string expected = row.patch.empty() ? "" : "[" + row.patch + kLock + "]";
    CHECK(selectorPatch(parsed(row.configuration), row.served, ours) == expected);
  }
}

TEST_CASE("a Service in another namespace is another operator's") {
  const json::Document one = parsed(configuration(webhook("x", "webhook", "{}")));
  CHECK(selectorPatch(one, kWithoutA, {"elsewhere", "webhook"}).empty());
  CHECK_FALSE(selectorPatch(one, kWithoutA, {"dynamo", ""}).empty());
}

}  // namespace dynamo::controller::test

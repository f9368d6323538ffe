// Objects, lists, events and discovery documents as API servers send them.

#include "controller/kube/decode.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>

#include "common/json/parse.h"
#include "controller/kube/discovery.h"

namespace dynamo::kube {
namespace {

template <class T>
std::string messageOf(const Result<T>& result) {
  const auto* error = std::get_if<ApiError>(&result);
  return error == nullptr ? "" : error->message;
}

json::Document parsed(const std::string& text) {
  json::Document document;
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

Result<ListPage> listOf(const std::string& text) {
  auto object = decodeObject(text);
  REQUIRE(std::holds_alternative<json::Document>(object));
  return decodeList(std::get<json::Document>(std::move(object)));
}

}  // namespace

TEST_CASE("a reply that is not a JSON object is a transport error that quotes nothing") {
  CHECK(messageOf(decodeObject("{\"secret\"")) ==
        "the server sent a reply that is not JSON (line 1, column 10)");
  CHECK(messageOf(decodeObject("[\"secret\"]")) == "the server sent a reply that is not a JSON object");
  const auto error = decodeObject("secret");
  REQUIRE(std::holds_alternative<ApiError>(error));
  CHECK(std::get<ApiError>(error).transient());
  CHECK(std::get<ApiError>(error).message.find("secret") == std::string::npos);
}

TEST_CASE("a page of a list") {
  const auto page = listOf(R"({"kind":"PodList","metadata":{"resourceVersion":"12","continue":"abc"},
                               "items":[{"metadata":{"name":"a"}},{}]})");
  REQUIRE(std::holds_alternative<ListPage>(page));
  CHECK(std::get<ListPage>(page).items().Size() == 2);
  CHECK(std::get<ListPage>(page).resourceVersion() == "12");
  CHECK(std::get<ListPage>(page).continueToken() == "abc");
}

TEST_CASE("an item that cannot be decoded is omitted from its list") {
  const std::string deep = R"({"a":)" + std::string(300, '[') + std::string(300, ']') + "}";
  const std::string text = R"({"kind":"PodList","items":[{"n":"]}"},)" + deep +
                           R"(,{"n":"\\\"","items":[1]}],"metadata":{"resourceVersion":"7","continue":"t"}})";
  auto decoded = decodeListReply(text);
  REQUIRE(std::holds_alternative<ListReply>(decoded));
  auto& reply = std::get<ListReply>(decoded);
  CHECK(reply.omitted == 1);
  const auto page = decodeList(std::move(reply.list));
  REQUIRE(std::holds_alternative<ListPage>(page));
  const auto& list = std::get<ListPage>(page);
  CHECK(list.continueToken() == "t");
  CHECK(list.resourceVersion() == "7");
  REQUIRE(list.items().Size() == 2);
  CHECK(json::findText(&list.items()[0], "n") == "]}");
  CHECK(json::findText(&list.items()[1], "n") == "\\\"");
  for (const char* broken : {"", "{", "[]", R"({"items":[)", R"({"items":["a)", R"({"items":[1]}})", "}"}) {
    CAPTURE(broken);
    CHECK(std::holds_alternative<ApiError>(decodeListReply(broken)));
  }
}

TEST_CASE("a list may be empty, and items that are not objects are rejected") {
  const auto empty = listOf(R"({"items":null})");
  REQUIRE(std::holds_alternative<ListPage>(empty));
  CHECK(std::get<ListPage>(empty).items().Empty());
  CHECK(std::get<ListPage>(empty).continueToken().empty());
  CHECK(messageOf(listOf("{}")) == "the server sent a list without items");
  CHECK(messageOf(listOf(R"({"items":{}})")) == "the server sent a list whose items are not objects");
  CHECK(messageOf(listOf(R"({"items":[{},null]})")) == "the server sent a list whose items are not objects");
}

TEST_CASE("events of a watch") {
  struct Row {
    const char* line;
    EventType type;
    const char* resourceVersion;
  };
  const Row row = GENERATE(values<Row>({
      {R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}})", EventType::Added, "1"},
      {R"({"type":"MODIFIED","object":{"metadata":{"resourceVersion":"2"}}})", EventType::Modified, "2"},
      {R"({"type":"DELETED","object":{"metadata":{}}})", EventType::Deleted, ""},
      {R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"4"}}})",
       EventType::Bookmark, "4"},
  }));
  CAPTURE(row.line);
  const auto event = decodeEvent(row.line);
  REQUIRE(std::holds_alternative<WatchEvent>(event));
  CHECK(std::get<WatchEvent>(event).type == row.type);
  CHECK(std::get<WatchEvent>(event).resourceVersion() == row.resourceVersion);
  CHECK_FALSE(std::get<WatchEvent>(event).endsInitialEvents());
}

TEST_CASE("the bookmark at the end of the initial events") {
  const auto event = decodeEvent(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"4",
      "annotations":{"k8s.io/initial-events-end":"true"}}}})");
  REQUIRE(std::holds_alternative<WatchEvent>(event));
  CHECK(std::get<WatchEvent>(event).endsInitialEvents());
}

TEST_CASE("an ERROR event returns the error of its Status") {
  const auto event =
      decodeEvent(R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",
      "message":"too old","reason":"Expired","code":410}})");
  REQUIRE(std::holds_alternative<ApiError>(event));
  CHECK(std::get<ApiError>(event).reason == Reason::Gone);
  CHECK(std::get<ApiError>(event).message == "too old");
}

TEST_CASE("lines that are not events are rejected") {
  CHECK(messageOf(decodeEvent("{")) == "the server sent a reply that is not JSON (line 1, column 2)");
  CHECK(messageOf(decodeEvent(R"({"type":"ADDED"})")) == "the server sent an event without an object");
  CHECK(messageOf(decodeEvent(R"({"type":"ADDED","object":[]})")) ==
        "the server sent an event without an object");
  CHECK(messageOf(decodeEvent(R"({"object":{}})")) == "the server sent an event of an unknown type");
  CHECK(messageOf(decodeEvent(R"({"type":"added","object":{}})")) ==
        "the server sent an event of an unknown type");
  CHECK(messageOf(decodeEvent(R"({"type":"ERROR","object":{}})")) ==
        "the server sent an error that is not a Status");
}

TEST_CASE("served groups list the preferred version first") {
  const ApiGroups groups = decodeGroups(parsed(R"({"kind":"APIGroupList","groups":[
      {"name":"apps","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}},
      {"name":"nvidia.com","versions":[{"version":"v1alpha1"},{"version":"v1beta1"}],
       "preferredVersion":{"version":"v1beta1"}},
      {"versions":[]}, 7, {"name":"odd","versions":[{"version":3},"v1",null]}]})"));
  REQUIRE(groups.find("nvidia.com") != nullptr);
  CHECK(groups.find("nvidia.com")->versions == std::vector<std::string>{"v1beta1", "v1alpha1"});
  CHECK(groups.serves("apps", "v1"));
  CHECK_FALSE(groups.serves("apps", "v2"));
  CHECK_FALSE(groups.serves("grove.io", "v1"));
  CHECK(groups.groups.size() == 3);
  CHECK(groups.find("odd")->versions.empty());
  CHECK(decodeGroups(parsed("{}")).groups.empty());
  CHECK(decodeGroups(parsed(R"({"groups":{}})")).groups.empty());
}

TEST_CASE("resources of a group version") {
  const ApiResources found =
      decodeResources(parsed(R"({"kind":"APIResourceList","groupVersion":"apps/v1","resources":[
      {"name":"deployments","namespaced":true,"kind":"Deployment"},
      {"name":"deployments/scale","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale"},
      {"name":"things","namespaced":false,"kind":"Thing"}, {"name":"x"}, []]})"),
                      "apps", "v1");
  CHECK(found.resources == std::vector<Resource>{{"apps", "v1", "deployments", "Deployment", true},
                                                 {"apps", "v1", "things", "Thing", false}});
  REQUIRE(found.ofKind("Thing") != nullptr);
  CHECK(found.ofKind("Scale") == nullptr);
  CHECK(found.hasSubresource("deployments", "scale"));
  CHECK_FALSE(found.hasSubresource("deployments", "status"));
}

}  // namespace dynamo::kube

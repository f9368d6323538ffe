// Requests of each call, and results for each kind of reply.

#include "controller/kube/client.h"

#include "common/json/parse.h"
#include "controller/kube/decode.h"
#include "controller/kube/discovery.h"
#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

const Resource kDeployments{"apps", "v1", "deployments", "Deployment"};

/// Returns the request of one call.
struct Sent {
  std::string line;
  std::string contentType;
  std::string body;
};

Sent sentBy(const std::function<Client::ObjectTask(Client&)>& call) {
  ApiServer server{[](const std::string&, int) { return ok("{}"); }};
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    auto result = co_await call(client);
    CHECK(textOf(result) == "{}");
  });
  const auto requests = server.requests();
  REQUIRE(requests.size() == 1);
  return {lineOf(requests[0]), headerOf(requests[0], "Content-Type"), bodyOf(requests[0])};
}

}  // namespace

TEST_CASE("every request has the headers User-Agent, Authorization and Accept") {
  ApiServer server{[](const std::string&, int) { return ok("{}"); }};
  RestConfig config = server.config();
  config.basePath = "/clusters/a";
  Credentials::Parts parts;
  parts.token = TextSource::ofText("abc");
  parts.impersonation = {{"Impersonate-User", "jane"}};
  config.credentials = std::make_shared<Credentials>(std::move(parts));
  ClientOptions options;
  options.userAgent = "a-name-that-is-not-short/1.0";
  withClient(
      std::move(config),
      [](EventLoop&, Client& client) -> Task<void> {
        auto result = co_await client.get(configMaps(), "a", "b");
        CHECK(textOf(result) == "{}");
      },
      options);
  REQUIRE(server.requests().size() == 1);
  const std::string request = server.requests()[0];
  CHECK(lineOf(request) == "GET /clusters/a/api/v1/namespaces/a/configmaps/b");
  CHECK(headerOf(request, "Authorization") == "Bearer abc");
  CHECK(headerOf(request, "Accept") == "application/json");
  CHECK(headerOf(request, "User-Agent") == "a-name-that-is-not-short/1.0");
  CHECK(headerOf(request, "Impersonate-User") == "jane");
}

TEST_CASE("requests of each call") {
  struct Row {
    const char* about;
    std::function<Client::ObjectTask(Client&)> call;
    const char* line;
    const char* contentType;
    const char* body;
  };
  ListOptions page;
  page.labelSelector = "app=a,tier in (b)";
  page.fieldSelector = "metadata.name=x";
  page.limit = 500;
  page.continueToken = "token==";
  page.resourceVersion = "0";
  page.resourceVersionMatch = "NotOlderThan";
  PatchOptions own;
  own.fieldManager = "dynamo-status";
  own.subresource = "status";
  own.force = false;
  own.dryRun = true;
  const std::string name = "b";
  const std::string body = R"({"a":1})";
  const Row row = GENERATE_COPY(values<Row>({
      {"get", [=](Client& c) { return c.get(kDeployments, "a", name); },
       "GET /apis/apps/v1/namespaces/a/deployments/b", "", ""},
      {"list", [=](Client& c) { return c.list(kDeployments, "a"); },
       "GET /apis/apps/v1/namespaces/a/deployments", "", ""},
      {"list of all namespaces, with options", [=](Client& c) { return c.list(kDeployments, "", page); },
       "GET "
       "/apis/apps/v1/deployments?labelSelector=app%3Da%2Ctier%20in%20%28b%29&fieldSelector=metadata.name%3Dx"
       "&limit=500&continue=token%3D%3D&resourceVersion=0&resourceVersionMatch=NotOlderThan",
       "", ""},
      {"create", [=](Client& c) { return c.create(kDeployments, "a", body); },
       "POST /apis/apps/v1/namespaces/a/deployments?fieldManager=dynamo-controller", "application/json",
       R"({"a":1})"},
      {"create, as a dry run", [=](Client& c) { return c.create(kDeployments, "a", body, true); },
       "POST /apis/apps/v1/namespaces/a/deployments?fieldManager=dynamo-controller&dryRun=All",
       "application/json", R"({"a":1})"},
      {"replace", [=](Client& c) { return c.replace(kDeployments, "a", name, body); },
       "PUT /apis/apps/v1/namespaces/a/deployments/b?fieldManager=dynamo-controller", "application/json",
       R"({"a":1})"},
      {"replace a status", [=](Client& c) { return c.replace(kDeployments, "a", name, body, "status"); },
       "PUT /apis/apps/v1/namespaces/a/deployments/b/status?fieldManager=dynamo-controller",
       "application/json", R"({"a":1})"},
      {"apply", [=](Client& c) { return c.patch(kDeployments, "a", name, PatchType::Apply, body); },
       "PATCH /apis/apps/v1/namespaces/a/deployments/b?fieldManager=dynamo-controller&force=true",
       "application/apply-patch+yaml", R"({"a":1})"},
      {"apply, with options",
       [=](Client& c) { return c.patch(kDeployments, "a", name, PatchType::Apply, body, own); },
       "PATCH /apis/apps/v1/namespaces/a/deployments/b/status?fieldManager=dynamo-status&dryRun=All",
       "application/apply-patch+yaml", R"({"a":1})"},
      {"merge patch", [=](Client& c) { return c.patch(kDeployments, "a", name, PatchType::Merge, body); },
       "PATCH /apis/apps/v1/namespaces/a/deployments/b?fieldManager=dynamo-controller",
       "application/merge-patch+json", R"({"a":1})"},
      {"JSON patch", [=](Client& c) { return c.patch(kDeployments, "a", name, PatchType::Json, "[]"); },
       "PATCH /apis/apps/v1/namespaces/a/deployments/b?fieldManager=dynamo-controller",
       "application/json-patch+json", "[]"},
      {"remove", [=](Client& c) { return c.remove(kDeployments, "a", name); },
       "DELETE /apis/apps/v1/namespaces/a/deployments/b", "application/json",
       R"({"apiVersion":"v1","kind":"DeleteOptions"})"},
      {"remove, with preconditions",
       [=](Client& c) {
         return c.remove(kDeployments, "a", name, Preconditions{"u", "7"}, "Background");
       },
       "DELETE /apis/apps/v1/namespaces/a/deployments/b", "application/json",
       R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u","resourceVersion":"7"},)"
       R"("propagationPolicy":"Background"})"},
      {"raw", [=](Client& c) { return c.raw("GET", "/version"); }, "GET /version", "", ""},
      {"raw with a body", [=](Client& c) { return c.raw("POST", "/x?y=z", body, "application/json"); },
       "POST /x?y=z", "application/json", R"({"a":1})"},
  }));
  CAPTURE(row.about);
  const Sent sent = sentBy(row.call);
  CHECK(sent.line == row.line);
  CHECK(sent.contentType == row.contentType);
  CHECK(sent.body == row.body);
}

TEST_CASE("a call without a required name or namespace sends nothing") {
  ApiServer server{[](const std::string&, int) { return ok("{}"); }};
  const Resource nodes{"", "v1", "nodes", "Node", false};
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    const std::string needsName = "BadRequest: a request for configmaps must have a name";
    const std::string needsNamespace = "BadRequest: a request for configmaps must have a namespace";
    auto result = co_await client.remove(configMaps(), "a", "");
    CHECK(textOf(result) == needsName);
    auto got = co_await client.get(configMaps(), "a", "");
    CHECK(textOf(got) == needsName);
    auto replaced = co_await client.replace(configMaps(), "", "b", "{}");
    CHECK(textOf(replaced) == needsNamespace);
    auto patched = co_await client.patch(configMaps(), "", "b", PatchType::Merge, "{}");
    CHECK(textOf(patched) == needsNamespace);
    auto created = co_await client.create(configMaps(), "", "{}");
    CHECK(textOf(created) == needsNamespace);
    CHECK(server.requests().empty());
    auto node = co_await client.get(nodes, "", "b");
    CHECK(textOf(node) == "{}");
  });
}

TEST_CASE("replies of all kinds are converted to a document or an error") {
  struct Row {
    const char* about;
    std::string reply;
    const char* result;
  };
  const Row row = GENERATE(values<Row>({
      {"an object", reply(200, R"({"kind":"ConfigMap"})"), R"({"kind":"ConfigMap"})"},
      {"created", reply(201, "{}"), "{}"},
      {"accepted", reply(202, "{}"), "{}"},
      {"without a body", reply(200, ""), "null"},
      {"a body that is not JSON", reply(200, "<html>"),
       "Transport: the server sent a reply that is not JSON (line 1, column 1)"},
      {"a failure", failure(404, "NotFound"), "NotFound: no"},
      {"a failure of a proxy", reply(502, "<html>"), "Unavailable: the server answered with HTTP status 502"},
      {"a redirect", reply(302, "", "Location: https://elsewhere/\r\n"),
       "Other: the server answered with HTTP status 302"},
      {"a failure whose body is too large", reply(403, std::string(5 << 20, 'x')),
       "Forbidden: the server answered with HTTP status 403"},
      {"a truncated body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"a\"",
       "Transport: the peer closed the connection"},
      {"a failure with a truncated body", "HTTP/1.1 409 Conflict\r\nContent-Length: 9\r\n\r\n{\"a\"",
       "Conflict: the server answered with HTTP status 409"},
      {"not HTTP", "SSH-2.0\r\n\r\n", "Transport: "},
      {"a body without a length", "HTTP/1.1 200 OK\r\n\r\n{}", "Transport: "},
  }));
  CAPTURE(row.about);
  ScriptedPeer peer{runtime::test::goodPair(), runtime::test::answers(row.reply)};
  withClient(configFor(peer), [&](EventLoop&, Client& client) -> Task<void> {
    auto result = co_await client.get(configMaps(), "a", "b");
    const std::string text = textOf(result);
    const std::string expected = row.result;
    if (expected.ends_with(": ")) {
      CHECK(text.starts_with(expected));
    } else {
      CHECK(text == expected);
    }
  });
}

TEST_CASE("messages about Secrets are withheld according to the requested resource") {
  ApiServer server{[](const std::string&, int) { return failure(400, "BadRequest"); }};
  withClient(server.config(), [](EventLoop&, Client& client) -> Task<void> {
    const Resource secrets{"", "v1", "secrets", "Secret"};
    auto result = co_await client.create(secrets, "a", "{}");
    CHECK(textOf(result) ==
          "BadRequest: the request failed: BadRequest (the message is omitted because it may quote the "
          "Secret)");
  });
}

TEST_CASE("an object or a list that is too large is rejected") {
  const auto sized = [](std::size_t size) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n{";
  };
  const auto chunked = [](std::size_t size) {
    std::string out = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string chunk(1 << 20, ' ');
    for (std::size_t i = 0; i < size; i += chunk.size()) out += "100000\r\n" + chunk + "\r\n";
    return out + "0\r\n\r\n";
  };
  const std::string text = GENERATE_COPY(sized(kMaxObjectBytes + 1), chunked(kMaxObjectBytes + 1));
  ScriptedPeer peer{runtime::test::goodPair(), runtime::test::answers(text)};
  withClient(configFor(peer), [](EventLoop&, Client& client) -> Task<void> {
    auto result = co_await client.get(configMaps(), "a", "b");
    CHECK(textOf(result) == "TooLarge: the reply has more than 16777216 bytes");
    CHECK(client.idleConnections() == 0);
  });
}

TEST_CASE("a list may be larger than an object") {
  const std::string filler(kMaxObjectBytes + 1, 'x');
  ApiServer server{[&](const std::string&, int) { return ok(R"({"items":[{"a":")" + filler + R"("}]})"); }};
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    auto result = co_await client.list(configMaps(), "");
    REQUIRE(std::holds_alternative<json::Document>(result));
    const auto page = decodeList(std::get<json::Document>(std::move(result)));
    REQUIRE(std::holds_alternative<ListPage>(page));
    CHECK(json::findText(&std::get<ListPage>(page).items()[0], "a").size() == filler.size());
  });
}

TEST_CASE("discovery requests the groups, the resources and the version") {
  ApiServer server{[](const std::string& request, int) {
    const std::string line = lineOf(request);
    if (line == "GET /apis") return ok(R"({"groups":[{"name":"apps","versions":[{"version":"v1"}]}]})");
    if (line == "GET /apis/apps/v1")
      return ok(R"({"resources":[{"name":"deployments","kind":"Deployment","namespaced":true}]})");
    if (line == "GET /api/v1")
      return ok(R"({"resources":[{"name":"nodes","kind":"Node","namespaced":false}]})");
    if (line == "GET /version") return ok(R"({"gitVersion":"v1.34.3"})");
    return reply(404, "404 page not found");
  }};
  withClient(server.config(), [](EventLoop&, Client& client) -> Task<void> {
    auto groups = co_await discover(client);
    REQUIRE(std::holds_alternative<ApiGroups>(groups));
    CHECK(std::get<ApiGroups>(groups).serves("apps", "v1"));
    auto apps = co_await discoverResources(client, "apps", "v1");
    REQUIRE(std::holds_alternative<ApiResources>(apps));
    CHECK(std::get<ApiResources>(apps).ofKind("Deployment")->plural == "deployments");
    auto core = co_await discoverResources(client, "", "v1");
    REQUIRE(std::holds_alternative<ApiResources>(core));
    CHECK_FALSE(std::get<ApiResources>(core).ofKind("Node")->namespaced);
    auto none = co_await discoverResources(client, "grove.io", "v1alpha1");
    CHECK(errorIn(none).reason == Reason::NotFound);
    auto version = co_await serverVersion(client);
    REQUIRE(std::holds_alternative<std::string>(version));
    CHECK(std::get<std::string>(version) == "v1.34.3");
  });
}

}  // namespace dynamo::kube::test

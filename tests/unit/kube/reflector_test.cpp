// A reflector against a scripted server.
#include "controller/kube/reflector.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "common/json/parse.h"
#include "common/runtime/notification.h"

namespace dynamo::kube::test {
namespace {

using runtime::Task;

json::Document parsed(const std::string& text) {
  json::Document document;
  INFO(text);
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

std::string object(std::string_view name, std::string_view version) {
  return R"({"metadata":{"name":")" + std::string{name} + R"(","resourceVersion":")" + std::string{version} +
         R"("}})";
}

/// Returns the scripted replies in order and records the requests.
struct Server {
  std::deque<std::string> pages;                ///< "!REASON": an error
  std::deque<std::deque<std::string>> watches;  ///< the lines of each watch; "!...": an error; "": silence
  std::string requests;

  static ApiError error(const std::string& text) {
    return text == "!Gone" ? ApiError{Reason::Gone, 410, "too old"} : ApiError{Reason::Forbidden, 403, "no"};
  }
  static Task<Result<json::Document>> page(Server* self, ListOptions options) {
    self->requests += (options.limit == 1 ? "probe " : "list ") + options.continueToken + ";";
    if (self->pages.empty()) co_return error("!Forbidden");
    const std::string text = self->pages.front();
    self->pages.pop_front();
    if (text.starts_with('!')) co_return error(text);
    co_return parsed(text);
  }
  static Task<Result<std::optional<std::string>>> line(std::shared_ptr<std::deque<std::string>> lines,
                                                       runtime::Deadline deadline) {
    if (lines->empty()) co_return std::optional<std::string>{};
    const std::string text = lines->front();
    lines->pop_front();
    if (text.empty()) {
      CHECK(deadline <= std::chrono::steady_clock::now() + kMaxSilence);
      co_return ApiError{Reason::Timeout, 0, "nothing received"};
    }
    if (text.starts_with('!')) co_return error(text);
    co_return std::optional<std::string>{text};
  }
  static Task<Result<Lines>> open(Server* self, Reflector** reflector, WatchOptions options) {
    const std::string& problem = (*reflector)->problem();
    self->requests += "watch " + options.resourceVersion + (problem.empty() ? "" : " after an error") + ";";
    if (self->watches.empty()) {
      (*reflector)->stop();
      co_return error("!Forbidden");
    }
    auto lines = std::make_shared<std::deque<std::string>>(self->watches.front());
    self->watches.pop_front();
    Lines read;
    read.next = [lines](runtime::Deadline deadline) { return line(lines, deadline); };
    read.cancel = [] {};
    co_return read;
  }
};

struct Run {
  std::string requests;
  std::string seen;
};

/// `work` is done for each object of a watch or list, `beside` by another task in every turn.
Run run(Server server, std::chrono::milliseconds work = {}, std::string_view beside = {}) {
  runtime::EventLoop loop;
  Reflector* self = nullptr;
  ListWatch source;
  source.list = [&](ListOptions options) { return Server::page(&server, std::move(options)); };
  source.watch = [&](WatchOptions options) { return Server::open(&server, &self, std::move(options)); };
  std::string seen;
  const auto nameOf = [](const json::Value& value) {
    return std::string{json::findText(json::find(value, "metadata"), "name")};
  };
  Sink sink;
  sink.listBegins = [&] { seen += "["; };
  sink.listEnds = [&](std::string_view version) { seen += "]" + std::string{version}; };
  sink.present = [&](const json::Value& value) {
    CHECK(json::findText(&value, "kind") == "Pod");
    CHECK(json::findText(&value, "apiVersion") == "v1");
    seen += "+" + nameOf(value);
    std::this_thread::sleep_for(work);
  };
  sink.deleted = [&](const json::Value& value) { seen += "-" + nameOf(value); };
  sink.wentBack = [&] { seen += "<"; };
  Reflector reflector{
      loop, Resource{"", "v1", "pods", "Pod"}, WatchedSet{}, source, sink, [] { return 0.0; }};
  self = &reflector;
  bool done = false;
  const auto watching = [&]() -> Task<void> {
    co_await reflector.run();
    done = true;
  };
  const auto other = [&]() -> Task<void> {
    while (!done && !beside.empty()) {
      seen += beside;
      co_await loop.sleepUntil(std::chrono::steady_clock::now());
    }
  };
  loop.spawn(watching());
  loop.spawn(other());
  loop.run();
  return {server.requests, seen};
}

std::string listOf(std::string_view version, std::string_view token, const std::string& items) {
  return R"({"metadata":{"resourceVersion":")" + std::string{version} + R"(","continue":")" +
         std::string{token} + R"("},"items":[)" + items + "]}";
}

std::string eventOf(std::string_view type, std::string_view name, std::string_view version) {
  return R"({"type":")" + std::string{type} +
         R"(","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + std::string{name} +
         R"(","resourceVersion":")" + std::string{version} + R"("}}})";
}

TEST_CASE("a list with several pages is followed by a watch that is resumed") {
  Server server;
  server.pages = {listOf("10", "t", object("a", "1")), listOf("10", "", object("b", "2"))};
  server.watches = {{eventOf("ADDED", "c", "11"), eventOf("BOOKMARK", "", "15")},
                    {eventOf("DELETED", "a", "16"), eventOf("MODIFIED", "b", "17")}};
  const Run result = run(server);
  CHECK(result.requests == "list ;list t;watch 10;watch 15;watch 17;");
  CHECK(result.seen == "[+a+b]10+c-a+b");
}

TEST_CASE("a watch with an expired version leads to a new list") {
  Server server;
  server.pages = {listOf("10", "", object("a", "1")), listOf("20", "", object("b", "2"))};
  server.watches = {
      {R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired"}})"}};
  const Run result = run(server);
  CHECK(result.requests == "list ;watch 10;list ;watch 20;");
  CHECK(result.seen == "[+a]10[+b]20");
}

TEST_CASE("a list that expires between its pages is restarted") {
  Server server;
  server.pages = {listOf("10", "t", object("a", "1")), "!Gone", listOf("20", "", object("b", "2"))};
  const Run result = run(server);
  CHECK(result.requests == "list ;list t;list ;watch 20;");
  CHECK(result.seen == "[+a[+b]20");
}

TEST_CASE("an event that cannot be decoded does not hide the events after it") {
  Server server;
  server.pages = {listOf("10", "", "")};
  const std::string deep =
      R"({"type":"ADDED","object":{"a":)" + std::string(300, '[') + std::string(300, ']') + "}}";
  server.watches = {{"{nonsense", eventOf("ADDED", "a", "11"), deep, eventOf("ADDED", "b", "13")}};
  const Run result = run(server);
  CHECK(result.requests == "list ;watch 10;watch 13 after an error;");
  CHECK(result.seen == "[]10+a+b");
}

TEST_CASE("other tasks run between events that were received at once") {
  Server server;
  server.pages = {listOf("10", "", "")};
  server.watches = {{eventOf("ADDED", "a", "11"), eventOf("ADDED", "b", "12"), eventOf("ADDED", "c", "13")}};
  const Run result = run(server, std::chrono::milliseconds{12}, ".");
  CHECK(result.seen.find("+a.") != std::string::npos);
  CHECK(result.seen.find("+b.") != std::string::npos);
}

TEST_CASE("a list that is older than what was reported is announced") {
  Server server;
  server.pages = {listOf("10", "", object("a", "1")), listOf("7", "", ""), listOf("7", "", object("a", "1")),
                  listOf("30", "", "")};
  server.watches = {
      {eventOf("ADDED", "b", "20"), "!Forbidden"},
      {R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,)"
       R"("reason":"Expired"}})"}};
  const Run result = run(server);
  CHECK(result.requests == "list ;watch 10;probe ;list ;watch 7;list ;watch 30;");
  CHECK(result.seen == "[+a]10+b<[+a]7[]30");
}

/// A server of two resources whose watches are silent until they break or are cancelled.
struct RestoredServer {
  runtime::EventLoop loop;
  std::shared_ptr<Restores> restores = std::make_shared<Restores>();
  std::map<std::string, std::unique_ptr<runtime::Notification>> watches;
  std::map<std::string, std::string> versions{{"a", "100"}, {"b", "200"}};
  std::string log;

  static Task<Result<json::Document>> list(RestoredServer* self, std::string name, ListOptions options) {
    self->log += name + (options.limit == 1 ? " probe;" : " list;");
    co_return parsed(listOf(self->versions[name], "", ""));
  }
  static Task<Result<std::optional<std::string>>> wait(RestoredServer* self, std::string name,
                                                       runtime::Deadline deadline) {
    co_await self->watches[name]->wait(deadline);
    co_return ApiError{Reason::Transport, 0, "broken"};
  }
  static Task<Result<Lines>> open(RestoredServer* self, std::string name, WatchOptions options) {
    self->log += name + " watch " + options.resourceVersion + ";";
    self->watches[name] = std::make_unique<runtime::Notification>(self->loop);
    Lines lines;
    lines.next = [self, name](runtime::Deadline deadline) { return wait(self, name, deadline); };
    lines.cancel = [self, name] { self->watches[name]->notify(); };
    co_return lines;
  }
  std::unique_ptr<Reflector> reflector(const std::string& name) {
    ListWatch source;
    source.list = [this, name](ListOptions options) { return list(this, name, std::move(options)); };
    source.watch = [this, name](WatchOptions options) { return open(this, name, std::move(options)); };
    source.restores = restores;
    Sink sink;
    sink.listBegins = [] {};
    sink.listEnds = [](std::string_view) {};
    sink.wentBack = [this, name] { log += name + " went back;"; };
    WatchedSet set;
    set.maxDelay = std::chrono::milliseconds{1};
    return std::make_unique<Reflector>(loop, Resource{"", "v1", name, "Pod"}, set, source, sink,
                                       [] { return 0.0; });
  }
  /// Lets the reflectors run until the log is as long as expected, and returns it.
  static Task<std::string> said(RestoredServer* self, std::size_t length) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (self->log.size() < length && std::chrono::steady_clock::now() < limit) {
      const auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
      co_await self->loop.sleepUntil(next);
    }
    co_return std::exchange(self->log, {});
  }
};

// Decision ctl-Q61. The versions may have caught up with those of a watch before it asks for them.
TEST_CASE("all watches list again after one of them has noticed a restore") {
  RestoredServer server;
  const auto a = server.reflector("a");
  const auto b = server.reflector("b");
  server.loop.spawn(a->run());
  server.loop.spawn(b->run());
  const auto play = [&]() -> Task<void> {
    const auto check = [&](std::string expected) -> Task<void> {
      const std::string said = co_await RestoredServer::said(&server, expected.size());
      CHECK(said == expected);
    };
    co_await check("a list;a watch 100;b list;b watch 200;");
    server.versions = {{"a", "150"}, {"b", "150"}};
    server.watches["a"]->notify();
    co_await check("a probe;a watch 100;");
    CHECK_FALSE(server.restores->inProgress());
    server.watches["b"]->notify();
    co_await check("b probe;b list;b went back;b watch 150;a list;a went back;a watch 150;");
    CHECK(server.restores->count() == 1);
    CHECK_FALSE(server.restores->inProgress());
    // Both know it now.
    server.watches["a"]->notify();
    co_await check("a probe;a watch 150;");
    server.loop.stop();
  };
  server.loop.spawn(play());
  server.loop.run();
}

TEST_CASE("a silent watch is opened again and is no failure") {
  Server server;
  server.pages = {listOf("10", "", "")};
  server.watches = {{eventOf("ADDED", "a", "11"), ""}, {eventOf("ADDED", "b", "12"), ""}};
  const Run result = run(server);
  CHECK(result.requests == "list ;watch 10;watch 11;watch 12;");
  CHECK(result.seen == "[]10+a+b");
}

}  // namespace
}  // namespace dynamo::kube::test

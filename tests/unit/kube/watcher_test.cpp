// The protocol of list and watch.
#include "controller/kube/watcher.h"

#include <catch2/catch.hpp>

#include "common/json/parse.h"

namespace dynamo::kube::test {
namespace {

ListPage page(std::string_view version, std::string_view token) {
  json::Document list;
  const std::string text = R"({"metadata":{"resourceVersion":")" + std::string{version} +
                           R"(","continue":")" + std::string{token} + R"("},"items":[]})";
  REQUIRE_FALSE(json::parse(text, list));
  return ListPage{std::move(list)};
}

WatchEvent event(EventType type, std::string_view version) {
  json::Document document;
  const std::string text = R"({"object":{"metadata":{"resourceVersion":")" + std::string{version} + R"("}}})";
  REQUIRE_FALSE(json::parse(text, document));
  return WatchEvent{type, std::move(document)};
}

Watcher watcher() {
  return Watcher{WatchedSet{"", "a=b", ""}, [] { return 0.0; }};
}

/// Returns the next action as text: "probe", "list", "list first", "list token=T", "watch V", "sleep 800".
std::string next(Watcher& watcher) {
  const Watcher::Action action = watcher.next();
  if (const auto* sleep = std::get_if<Watcher::Sleep>(&action)) {
    return "sleep " + std::to_string(sleep->time.count());
  }
  if (const auto* probe = std::get_if<Watcher::Probe>(&action)) {
    CHECK(probe->options.labelSelector == "a=b");
    CHECK(probe->options.limit == 1);
    CHECK(probe->options.resourceVersion.empty());
    return "probe";
  }
  if (const auto* watch = std::get_if<Watcher::Watch>(&action)) {
    CHECK(watch->options.labelSelector == "a=b");
    CHECK(watch->options.timeout == kMinWatchTime);
    CHECK(watch->lifetime == kMinWatchTime + kWatchGrace);
    return "watch " + watch->options.resourceVersion;
  }
  const auto& list = std::get<Watcher::List>(action);
  CHECK(list.options.labelSelector == "a=b");
  CHECK(list.options.resourceVersion.empty());
  return std::string{list.first ? "list first" : "list"} +
         (list.options.continueToken.empty() ? "" : " token=" + list.options.continueToken) +
         (list.options.limit == kPageLimit ? "" : " limit=" + std::to_string(list.options.limit));
}

TEST_CASE("all pages are listed, then a watch starts at the version of the list") {
  Watcher watch = watcher();
  CHECK(next(watch) == "list first");
  CHECK_FALSE(watch.listed(page("10", "t1")));
  CHECK_FALSE(watch.synced());
  CHECK(next(watch) == "list token=t1");
  CHECK(watch.listed(page("10", "")));
  CHECK(watch.synced());
  CHECK(next(watch) == "watch 10");
}

TEST_CASE("a watch resumes at the version of its last event or bookmark") {
  Watcher watch = watcher();
  watch.listed(page("10", ""));
  watch.watchOpened();
  CHECK(watch.received(event(EventType::Added, "11")));
  CHECK_FALSE(watch.received(event(EventType::Bookmark, "20")));
  watch.watchEnded();
  CHECK(next(watch) == "watch 20");
}

TEST_CASE("an expired version restarts the list") {
  Watcher watch = watcher();
  watch.listed(page("10", ""));
  watch.watchFailed(ApiError{Reason::Gone, 410, "too old"});
  CHECK(next(watch) == "list first");
  watch.listed(page("30", ""));
  CHECK(next(watch) == "watch 30");

  SECTION("with a delay if it expires again") {
    watch.watchFailed(ApiError{Reason::Gone, 410, "too old"});
    CHECK(next(watch) == "sleep 800");
    CHECK(next(watch) == "list first");
  }
}

TEST_CASE("an expired continue token restarts the list immediately") {
  Watcher watch = watcher();
  watch.listed(page("10", "t1"));
  watch.listFailed(ApiError{Reason::Gone, 410, "expired"});
  CHECK(next(watch) == "list first");
}

TEST_CASE("failed requests are retried with exponential backoff") {
  Watcher watch = watcher();
  const ApiError error{Reason::Unavailable, 503, "no"};
  for (const char* delay : {"sleep 800", "sleep 1600", "sleep 3200", "sleep 6400", "sleep 12800",
                            "sleep 25600", "sleep 30000", "sleep 30000"}) {
    watch.listFailed(error);
    CHECK(next(watch) == delay);
    CHECK(next(watch) == "list first");
  }
  watch.listed(page("10", ""));
  watch.watchFailed(error);
  CHECK(next(watch) == "sleep 800");
  CHECK(next(watch) == "probe");
  watch.probeFailed(error);
  CHECK(next(watch) == "sleep 1600");
  CHECK(next(watch) == "probe");
  watch.probed(page("12", "t"));
  CHECK(next(watch) == "watch 10");
}

TEST_CASE("a failed page is requested again with its token") {
  Watcher watch = watcher();
  watch.listed(page("10", "t1"));
  watch.listFailed(ApiError{Reason::Timeout, 504, "slow"});
  CHECK(next(watch) == "sleep 800");
  CHECK(next(watch) == "list token=t1");
}

TEST_CASE("a page that the server refuses for good restarts the list") {
  Watcher watch = watcher();
  watch.listed(page("10", "t1"));
  watch.listFailed(ApiError{Reason::BadRequest, 400, "invalid continue token"});
  CHECK(next(watch) == "sleep 800");
  CHECK(next(watch) == "list first");
}

TEST_CASE("pages that are too large are made smaller until they fit") {
  Watcher watch = watcher();
  watch.listed(page("10", "t1"));
  const ApiError tooLarge{Reason::TooLarge, 0, "large"};
  watch.listFailed(tooLarge);
  CHECK(next(watch) == "list token=t1 limit=125");
  for (int i = 0; i < 6; ++i) watch.listFailed(tooLarge);
  CHECK(next(watch) == "list token=t1 limit=1");
  // A single object that is too large is an error of the server.
  watch.listFailed(tooLarge);
  CHECK(next(watch) == "sleep 800");
}

TEST_CASE("Retry-After is the minimum delay") {
  Watcher watch = watcher();
  ApiError error{Reason::TooManyRequests, 429, "busy"};
  error.retryAfter = std::chrono::seconds{7};
  watch.listFailed(error);
  CHECK(next(watch) == "sleep 7000");
}

TEST_CASE("a set may limit the time of its watches and its delays") {
  WatchedSet set;
  set.watchTime = std::chrono::seconds{25};
  set.maxDelay = std::chrono::milliseconds{1000};
  Watcher watch{set, [] { return 0.0; }};
  watch.next();
  watch.listed(page("10", ""));
  const Watcher::Action action = watch.next();
  REQUIRE(std::holds_alternative<Watcher::Watch>(action));
  CHECK(std::get<Watcher::Watch>(action).options.timeout == set.watchTime);
  CHECK(std::get<Watcher::Watch>(action).lifetime == set.watchTime + kWatchGrace);
  for (const int delay : {800, 1000, 1000}) {
    watch.watchFailed(ApiError{Reason::Transport, 0, "broken"});
    const Watcher::Action wait = watch.next();
    REQUIRE(std::holds_alternative<Watcher::Sleep>(wait));
    CHECK(std::get<Watcher::Sleep>(wait).time == std::chrono::milliseconds{delay});
  }
}

TEST_CASE("requests are delayed if the server ends watches immediately") {
  Watcher watch = watcher();
  watch.listed(page("10", ""));
  watch.watchOpened();
  watch.watchEnded();
  CHECK(next(watch) == "probe");
  watch.probed(page("10", ""));
  CHECK(next(watch) == "watch 10");
  watch.watchOpened();
  watch.watchEnded();
  CHECK(next(watch) == "sleep 800");
  CHECK(next(watch) == "probe");
  watch.probed(page("10", ""));
  CHECK(next(watch) == "watch 10");
  watch.watchOpened();
  watch.received(event(EventType::Bookmark, "12"));
  watch.watchEnded();
  CHECK(next(watch) == "watch 12");
}

// A watch at a version that the server has not reached yet is served, and hides what happens until then.
TEST_CASE("after a failed or silent watch, a server with older versions is listed again") {
  struct Row {
    const char* about;
    bool fails;
    const char* version;  ///< of the reply to the probe; "": it is refused
    const char* then;
  };
  for (const Row& row :
       {Row{"the same version", true, "10", "watch 10"}, Row{"a later version", true, "100", "watch 10"},
        Row{"an older version after an error", true, "9", "list first"},
        Row{"an older version after silence", false, "9", "list first"},
        Row{"no number", true, "x", "watch 10"}, Row{"a refused probe", true, "", "sleep 1600"}}) {
    CAPTURE(row.about);
    Watcher watch = watcher();
    watch.listed(page("10", ""));
    CHECK(next(watch) == "watch 10");
    if (row.fails) {
      watch.watchFailed(ApiError{Reason::Transport, 0, "broken"});
      CHECK(next(watch) == "sleep 800");
    } else {
      watch.watchOpened();
      watch.watchEnded();
    }
    CHECK(next(watch) == "probe");
    if (*row.version == '\0') {
      watch.probeFailed(ApiError{Reason::Forbidden, 403, "no"});
    } else {
      watch.probed(page(row.version, ""));
    }
    CHECK(next(watch) == row.then);
    if (std::string{row.then} == "list first") {
      CHECK(watch.wentBack(page("9", "")));
      watch.listed(page("9", ""));
      CHECK_FALSE(watch.wentBack(page("9", "")));
    }
    if (*row.version == '\0') CHECK(next(watch) == "watch 10");
  }
}

TEST_CASE("a restore that another watch noticed leads to a list that is right whatever its version") {
  for (const bool watching : {true, false}) {
    CAPTURE(watching);
    Watcher watch = watcher();
    CHECK(watch.listed(page("10", watching ? "" : "t")) == watching);
    watch.serverRestored();
    CHECK(next(watch) == "list first");
    watch.listFailed(ApiError{Reason::Unavailable, 503, "no"});
    CHECK(next(watch) == "sleep 800");
    CHECK(next(watch) == "list first");
    CHECK(watch.wentBack(page("11", "")));
    watch.listed(page("11", "t"));
    CHECK(watch.restored());
    watch.listed(page("11", ""));
    CHECK_FALSE(watch.restored());
    CHECK_FALSE(watch.wentBack(page("11", "")));
    CHECK(next(watch) == "watch 11");
  }
}

TEST_CASE("a proxy that cuts quiet watches again and again causes no growing delay") {
  const ApiError cut{Reason::Transport, 0, "cut"};
  struct Row {
    std::chrono::milliseconds lasted;
    const char* third;
  };
  for (const Row& row : {Row{kLongWatch, "sleep 800"}, Row{std::chrono::milliseconds{9'999}, "sleep 3200"}}) {
    Watcher watch = watcher();
    watch.listed(page("10", ""));
    std::string delay;
    for (int i = 0; i < 3; ++i) {
      watch.watchOpened();
      watch.watchLasted(row.lasted);
      watch.watchFailed(cut);
      delay = next(watch);
      CHECK(next(watch) == "probe");
      watch.probed(page("10", ""));
      CHECK(next(watch) == "watch 10");
    }
    CHECK(delay == row.third);
  }
}

}  // namespace
}  // namespace dynamo::kube::test

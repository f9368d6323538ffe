// The guard with an API server in memory.

#include "controller/access/token_guard.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/kube/kube_support.h"

namespace dynamo::access {
namespace {

using namespace std::chrono_literals;
using kube::test::failure;
using kube::test::FakeRoundTripper;
using runtime::EventLoop;
using runtime::Task;
using runtime::test::ok;

constexpr const char* kScraper = R"({"status":{"authenticated":true,"user":{"username":"scraper"}}})";
constexpr const char* kStranger = R"({"status":{"authenticated":true,"user":{"username":"stranger"}}})";

/// Answers reviews: "good" is the token of a user with the right, "poor" of one without.
std::string reviewed(const std::string& request) {
  if (request.find("\"token\":\"good\"") != std::string::npos) return ok(kScraper);
  if (request.find("\"token\":\"poor\"") != std::string::npos) return ok(kStranger);
  if (request.find("\"kind\":\"TokenReview\"") != std::string::npos)
    return ok(R"({"status":{"error":"no"}})");
  const bool allowed = request.find("\"user\":\"scraper\"") != std::string::npos;
  return ok(allowed ? R"({"status":{"allowed":true}})" : R"({"status":{"allowed":false}})");
}

/// A guard whose API server is a function. `now` is its clock.
struct Fixture {
  explicit Fixture(std::function<std::string(const std::string&)> answer = reviewed) {
    auto handler = [answer = std::move(answer)](std::string request, int) -> Task<std::string> {
      co_return answer(request);
    };
    server = std::make_shared<FakeRoundTripper>(std::move(handler));
    auto client = std::make_unique<kube::Client>(server, "test");
    guard = std::make_unique<TokenGuard>(std::move(client), "/metrics", [this] { return now; });
  }

  /// Returns the status of the refusal; 200: none.
  int ask(const std::string& authorization) {
    EventLoop loop;
    auto refusal = runtime::runTask(loop, guard->refusal(authorization));
    if (refusal) body = refusal->body;
    return refusal ? refusal->status : 200;
  }
  std::size_t requests() const { return server->requests().size(); }

  VerdictCache::Instant now{1000s};
  std::shared_ptr<FakeRoundTripper> server;
  std::unique_ptr<TokenGuard> guard;
  std::string body;
};

}  // namespace

TEST_CASE("the guard asks the API server") {
  Fixture fixture;
  CHECK(fixture.ask("Bearer good") == 200);
  REQUIRE(fixture.requests() == 2);
  CHECK(kube::test::lineOf(fixture.server->requests()[0]) ==
        "POST /apis/authentication.k8s.io/v1/tokenreviews?fieldManager=test");
  CHECK(kube::test::lineOf(fixture.server->requests()[1]) ==
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews?fieldManager=test");
  CHECK(fixture.ask("Bearer poor") == 403);
  CHECK(fixture.body.find("may not get the non-resource URL /metrics") != std::string::npos);
  CHECK(fixture.requests() == 4);
  CHECK(fixture.ask("Bearer other") == 401);
  CHECK(fixture.requests() == 5);
}

TEST_CASE("a request without a token is not worth a review") {
  Fixture fixture;
  CHECK(fixture.ask("") == 401);
  CHECK(fixture.ask("Basic good") == 401);
  CHECK(fixture.requests() == 0);
}

TEST_CASE("verdicts are kept until they expire") {
  bool allowed = true;
  Fixture fixture{[&](const std::string& request) {
    const std::string answer = reviewed(request);
    return allowed ? answer : answer.find("allowed") == std::string::npos ? answer : ok("{}");
  }};
  CHECK(fixture.ask("Bearer good") == 200);
  allowed = false;  // the right is removed
  fixture.now += 59s;
  CHECK(fixture.ask("Bearer good") == 200);
  CHECK(fixture.requests() == 2);
  fixture.now += 1s;
  CHECK(fixture.ask("Bearer good") == 403);
  allowed = true;
  fixture.now += 29s;
  CHECK(fixture.ask("Bearer good") == 403);
  CHECK(fixture.requests() == 4);
  fixture.now += 1s;
  CHECK(fixture.ask("Bearer good") == 200);
}

TEST_CASE("a failure is an error of the server and is not kept") {
  struct Row {
    const char* about;
    std::string answer;
    int status;
    std::size_t requests;
  };
  const std::vector<Row> rows{
      {"no reply, asked twice", "", 503, 2},
      {"overload", failure(429, "TooManyRequests"), 503, 1},
      {"unavailable", failure(503, "ServiceUnavailable"), 503, 1},
      {"no permission to ask", failure(403, "Forbidden"), 500, 1},
      {"own token not valid", failure(401, "Unauthorized"), 500, 1},
  };
  for (const Row& row : rows) {
    for (const std::string_view kind : {"TokenReview", "SubjectAccessReview"}) {
      CAPTURE(row.about, kind);
      bool broken = true;
      Fixture fixture{[&](const std::string& request) {
        const bool asked = request.find("\"kind\":\"" + std::string{kind}) != std::string::npos;
        return broken && asked ? row.answer : reviewed(request);
      }};
      CHECK(fixture.ask("Bearer good") == row.status);
      CHECK(fixture.requests() == row.requests + (kind == "TokenReview" ? 0 : 1));
      CHECK(fixture.body.find("good") == std::string::npos);
      broken = false;
      CHECK(fixture.ask("Bearer good") == 200);
    }
  }
}

TEST_CASE("only some requests wait for the API server") {
  EventLoop loop;
  auto handler = [&loop](std::string request, int) -> Task<std::string> {
    static_cast<void>(co_await loop.sleepUntil(std::chrono::steady_clock::now() + 200ms));
    co_return reviewed(request);
  };
  auto client =
      std::make_unique<kube::Client>(std::make_shared<FakeRoundTripper>(std::move(handler)), "test");
  TokenGuard guard{std::move(client), "/metrics"};
  std::vector<int> statuses;
  const auto ask = [&](std::string authorization) -> Task<void> {
    const auto refusal = co_await guard.refusal(std::move(authorization));
    statuses.push_back(refusal ? refusal->status : 200);
  };
  for (std::size_t i = 0; i < TokenGuard::kMaxWaiting + 3; ++i)
    loop.spawn(ask("Bearer t" + std::to_string(i)));
  loop.run();
  CHECK(std::count(statuses.begin(), statuses.end(), 503) == 3);
  CHECK(std::count(statuses.begin(), statuses.end(), 401) == TokenGuard::kMaxWaiting);
  statuses.clear();
  loop.spawn(ask("Bearer good"));
  loop.run();
  CHECK(statuses == std::vector<int>{200});
}

}  // namespace dynamo::access

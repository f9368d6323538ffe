// The lines of the decision log: their fields, the values they never contain, and their number.

#include "webhook/commands/decision_log.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "common/observability/log.h"
#include "support.h"
#include "tests/unit/observability/captured.h"

namespace dynamo::webhook::test {
namespace {

using namespace std::chrono_literals;

/// A decision log with a manual clock.
struct Watched {
  explicit Watched(bool denials = true) : log{denials, [this] { return now; }} { log.watch(observers); }

  std::chrono::steady_clock::time_point now{24h};
  DecisionLog log;
  Observers observers;
};

/// The lines that `act` causes, without their times.
std::vector<std::string> lines(const std::function<void(Watched&)>& act, bool denials = true,
                               log::Level level = log::Level::Info) {
  log::configure({level, log::Format::Text});
  const std::string text = log::test::captured([&] {
    Watched watched{denials};
    act(watched);
  });
  log::configure({});
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out.push_back(text.substr(at, end - at).substr(std::string_view{"2025-12-31T23:59:59.042Z "}.size()));
    at = end + 1;
  }
  return out;
}

/// Sends `bodies` to the handler of `path`.
auto asks(std::string_view path, std::vector<std::string> bodies) {
  return [path, bodies = std::move(bodies)](Watched& watched) {
    const Routes routes{current(), watched.observers};
    for (const std::string& body : bodies) {
      HttpRequest request{body};
      static_cast<void>(routes.find(path)->handle(request));
    }
  };
}

std::string by(std::string_view user, std::string review) {
  const std::string_view uid = R"("uid":"u",)";
  return review.insert(review.find(uid), R"("userInfo":{"username":")" + std::string{user} + "\"},");
}

const std::string kSecret = "hf_TopSecretToken";

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a denial is logged with object, user and rules, and without values") {
  const std::string path{kValidate};
  const auto bad =
      dgdr(R"({"model":"","image":")" + kSecret + R"( ","backend":"auto","searchStrategy":"thorough"})");
  const Lines told = lines(asks(kValidate, {by("jane", review("CREATE", bad))}));
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Catch::StartsWith("INFO  admission: denied uid=u kind=DynamoGraphDeploymentRequest "
                                        "namespace=ns name=r operation=CREATE user=jane path=" +
                                        path + " rules="));
  CHECK_THAT(told[0], Catch::Contains("dgdr-thorough-backend"));
  CHECK(told[0].find(kSecret) == std::string::npos);
  CHECK(told[0].find("suppressed") == std::string::npos);
}

TEST_CASE("only denials are logged") {
  CHECK(lines(asks(kValidate, {review("CREATE", goodDgdr())})).empty());
  CHECK(lines(asks(kMutate, {review("CREATE", goodDgdr())})).empty());
  // The review of the self check is not logged, nor are denials when they are disabled by flag or level.
  std::string own = review("CREATE", dgdr("{}"));
  own.replace(own.find(R"("uid":"u")"), 9, R"("uid":")" + std::string{kSelfCheckUid} + "\"");
  CHECK(lines(asks(kValidate, {own})).empty());
  CHECK(lines(asks(kValidate, {review("CREATE", dgdr("{}"))}), false).empty());
  CHECK(lines(asks(kValidate, {review("CREATE", dgdr("{}"))}), true, log::Level::Warn).empty());
}

TEST_CASE("an unreadable object is logged as a denial without rules") {
  CHECK(lines(asks(kValidate, {by("jane", review("CREATE", R"({"kind":")" + kSecret + "\"}"))})) ==
        Lines{"INFO  admission: denied: the object cannot be read uid=u kind=DynamoGraphDeploymentRequest "
              "namespace=ns name=r operation=CREATE user=jane path=" +
              std::string{kValidate}});
}

TEST_CASE("a failed conversion is logged with the object's index and without values") {
  const std::string body =
      R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"c",)"
      R"("desiredAPIVersion":"nvidia.com/v1alpha1","objects":[)" +
      goodDgdr() + ",\"" + kSecret + "\"]}}";
  CHECK(lines(asks(kConvert, {body})) == Lines{"WARN  conversion: conversion failed uid=c object=1"});
}

TEST_CASE("a malformed review is rejected with a log message that quotes nothing") {
  struct Row {
    std::string_view path;
    std::string body;
    std::string_view refusal;
  };
  const Row rows[] = {
      {kValidate, "{\"" + kSecret, "the body cannot be read as a review"},
      {kValidate, R"({"kind":")" + kSecret + "\"}",
       "the body is not an AdmissionReview of admission.k8s.io/v1"},
      {kValidate, R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})",
       "the review has no request"},
      {kValidate, R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}})",
       "the review has no uid"},
      {kConvert, "[", "the body cannot be read as a review"},
      {kConvert, R"({"request":{"uid":"u","objects":[]},"kind":")" + kSecret + "\"}",
       "the body is not a ConversionReview of apiextensions.k8s.io"},
      {kConvert,
       R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"objects":[]}})",
       "the review has no uid"},
      {kValidate, review("CREATE", goodDgdr()), ""},
      {kValidate, review("CREATE", dgdr("{}")), ""},
  };
  for (const Row& row : rows) {
    INFO(row.body);
    const Reply reply = ask(row.path, row.body);
    CHECK(reply.refusal == row.refusal);
    CHECK(reply.status == (row.refusal.empty() ? 200 : 400));
  }
}

TEST_CASE("errors of connections are logged") {
  struct Row {
    std::function<void(const ServerEvents&)> act;
    std::string line;
  };
  const std::string hint =
      " hint=\"the client does not accept the serving certificate; if it is the API server, the caBundle of "
      "the webhook configuration or CRD does not match tls.crt, or tls.crt has the wrong names or dates\"";
  const Row rows[] = {
      {[](auto& e) {
         e.handshakeFailed({"10.0.0.1:5", "remote error: bad certificate", 42});
       },
       "WARN  http: TLS handshake failed remote=10.0.0.1:5 reason=\"remote error: bad certificate\" "
       "alert=42" +
           hint},
      {[](auto& e) {
         e.handshakeFailed({"10.0.0.1:5", "remote error: unknown ca", 48});
       },
       "WARN  http: TLS handshake failed remote=10.0.0.1:5 reason=\"remote error: unknown ca\" alert=48" +
           hint},
      {[](auto& e) {
         e.handshakeFailed({"10.0.0.1:5", "no shared cipher", 0});
       },
       "WARN  http: TLS handshake failed remote=10.0.0.1:5 reason=\"no shared cipher\""},
      {[](auto& e) {
         e.requestRefused({"10.0.0.1:5", "/convert", 400, "the review has no uid"});
       },
       "WARN  http: request refused remote=10.0.0.1:5 path=/convert status=400 reason=\"the review has no "
       "uid\""},
      {[](auto& e) {
         e.requestRefused({"", "", 431, "the request head is too large"});
       },
       "WARN  http: request refused remote=\"\" status=431 reason=\"the request head is too large\""},
      {[](auto& e) {
         e.handlerFailed({"10.0.0.1:5", "/convert", "std::out_of_range"});
       },
       "ERROR http: handler failed remote=10.0.0.1:5 path=/convert exception=std::out_of_range"},
  };
  for (const Row& row : rows) {
    CHECK(lines([&](Watched& watched) { row.act(watched.log.events()); }) == Lines{row.line});
  }
}

TEST_CASE("each class of messages is rate limited and counted separately") {
  const Lines told = lines([](Watched& watched) {
    const ServerEvents events = watched.log.events();
    for (int i = 0; i < 1'000; ++i) events.requestRefused({"10.0.0.1:5", "/a", 404, "nothing"});
    events.handshakeFailed({"10.0.0.1:5", "remote error: unknown ca", 48});
    events.requestRefused({"10.0.0.1:5", "/a", 503, "full"});
    watched.now += 1s;
    events.requestRefused({"10.0.0.1:5", "/a", 404, "nothing"});
  });
  REQUIRE(told.size() == 20 + 3);
  CHECK_THAT(told[20], Catch::Contains("unknown ca"));
  CHECK_THAT(told[21], Catch::Contains("status=503"));
  CHECK_THAT(told[22], Catch::EndsWith("reason=nothing suppressed=980"));
}

}  // namespace dynamo::webhook::test

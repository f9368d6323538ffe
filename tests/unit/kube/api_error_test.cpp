// Errors of failed requests.

#include "controller/kube/api_error.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/json/parse.h"

namespace dynamo::kube {
namespace {

using namespace std::chrono_literals;

runtime::ReplyHead headOf(int status, std::vector<runtime::Header> headers = {}) {
  runtime::ReplyHead head;
  head.status = status;
  head.headers = std::move(headers);
  return head;
}

/// Returns a Status with these members besides kind and apiVersion.
std::string statusWith(const std::string& members) {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)" + members + "}";
}

}  // namespace

TEST_CASE("the reason is taken from the Status, and without one from the HTTP status code") {
  struct Row {
    int status;
    const char* reason;  ///< reason of the Status; empty: the body is not a Status
    Reason expected;
    bool transient;
  };
  const Row row = GENERATE(values<Row>({
      {404, "NotFound", Reason::NotFound, false},
      {409, "AlreadyExists", Reason::AlreadyExists, false},
      {409, "Conflict", Reason::Conflict, true},
      {410, "Expired", Reason::Gone, false},
      {410, "Gone", Reason::Gone, false},
      {429, "TooManyRequests", Reason::TooManyRequests, true},
      {401, "Unauthorized", Reason::Unauthorized, false},
      {403, "Forbidden", Reason::Forbidden, false},
      {422, "Invalid", Reason::Invalid, false},
      {400, "BadRequest", Reason::BadRequest, false},
      {504, "Timeout", Reason::Timeout, true},
      {500, "ServerTimeout", Reason::Timeout, true},
      {503, "ServiceUnavailable", Reason::Unavailable, true},
      {500, "InternalError", Reason::Internal, true},
      {405, "MethodNotAllowed", Reason::Other, false},
      {413, "RequestEntityTooLarge", Reason::Other, false},
      {422, "SomethingOfTomorrow", Reason::Invalid, false},
      {404, "", Reason::NotFound, false},
      {409, "", Reason::Conflict, true},
      {401, "", Reason::Unauthorized, false},
      {408, "", Reason::Timeout, true},
      {429, "", Reason::TooManyRequests, true},
      {500, "", Reason::Internal, true},
      {502, "", Reason::Unavailable, true},
      {503, "", Reason::Unavailable, true},
      {504, "", Reason::Timeout, true},
      {507, "", Reason::Internal, true},
      {302, "", Reason::Other, false},
      {418, "", Reason::Other, false},
  }));
  CAPTURE(row.status, row.reason);
  const std::string reason{row.reason};
  const std::string body =
      reason.empty() ? "upstream is away" : statusWith(R"("reason":")" + reason + R"(","message":"m")");
  const ApiError error = errorOf(headOf(row.status), body);
  CHECK(error.reason == row.expected);
  CHECK(error.status == row.status);
  CHECK(error.transient() == row.transient);
  CHECK(error.message ==
        (reason.empty() ? "the server answered with HTTP status " + std::to_string(row.status) : "m"));
}

TEST_CASE("causes are kept") {
  const ApiError error = errorOf(headOf(422), statusWith(R"("reason":"Invalid","message":"no","code":422,
      "details":{"name":"x","kind":"Deployment","causes":[
        {"reason":"FieldValueRequired","message":"Required value","field":"spec.selector"},
        {"reason":"FieldValueInvalid","message":"Invalid value: 3"}, 7, {}]})"));
  REQUIRE(error.causes.size() == 3);
  CHECK(error.causes[0].reason == "FieldValueRequired");
  CHECK(error.causes[0].message == "Required value");
  CHECK(error.causes[0].field == "spec.selector");
  CHECK(error.cause("FieldValueInvalid") == &error.causes[1]);
  CHECK(error.cause("FieldManagerConflict") == nullptr);
}

TEST_CASE("values of environment variables are not quoted") {
  const ApiError error = errorOf(headOf(422), statusWith(R"("reason":"Invalid","code":422,
      "message":"Pod \"x\" is invalid: spec.containers[0].env[0].value: Invalid value: \"s3cret\": too long",
      "details":{"name":"x","kind":"Pod","causes":[{"reason":"FieldValueInvalid",
        "message":"Invalid value: \"s3cret\": too long","field":"spec.containers[0].env[0].value"}]})"));
  CHECK(error.message == "Pod \"x\" is invalid: spec.containers[0].env[0].value: Invalid value: too long");
  REQUIRE(error.causes.size() == 1);
  CHECK(error.causes[0].message == "Invalid value: too long");
}

TEST_CASE("a body that is not a Status is not quoted") {
  const std::string body = GENERATE(
      values<std::string>({"", "null", "7", "[]", "{}", R"({"kind":"Status"})",
                           R"({"kind":"Pod","apiVersion":"v1","message":"secret"})", "<html>secret</html>",
                           R"({"kind":"Status","apiVersion":"v1","message":"secret")",
                           R"({"kind":"Status","apiVersion":"v1","message":"secret","message":"secret"})",
                           "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\"\xFF secret\"}"}));
  CAPTURE(body);
  const ApiError error = errorOf(headOf(403), body);
  CHECK(error.reason == Reason::Forbidden);
  CHECK(error.message == "the server answered with HTTP status 403");
}

TEST_CASE("members with a wrong type are ignored") {
  const ApiError error = errorOf(
      headOf(422),
      statusWith(R"("reason":7,"message":{},"code":"x","details":{"causes":{},"retryAfterSeconds":"9"})"));
  CHECK(error.reason == Reason::Invalid);
  CHECK(error.message == "Invalid");
  CHECK(error.causes.empty());
  CHECK_FALSE(error.retryAfter);
  CHECK(errorOf(headOf(404), statusWith(R"("details":[])")).reason == Reason::NotFound);
}

TEST_CASE("the delay is taken from Retry-After or from the Status") {
  struct Row {
    const char* header;   ///< empty: none
    const char* details;  ///< members of details
    std::optional<std::chrono::seconds> expected;
  };
  const Row row = GENERATE(values<Row>({
      {"", "", std::nullopt},
      {"1", "", 1s},
      {"0", "", 0s},
      {"1", R"("retryAfterSeconds":9)", 1s},
      {"", R"("retryAfterSeconds":9)", 9s},
      {"", R"("retryAfterSeconds":0)", std::nullopt},
      {"", R"("retryAfterSeconds":-1)", std::nullopt},
      {"", R"("retryAfterSeconds":1.5)", std::nullopt},
      {"-1", "", std::nullopt},
      {"1.5", "", std::nullopt},
      {"Fri, 31 Dec 1999 23:59:59 GMT", "", std::nullopt},
      {"86400", "", kMaxRetryAfter},
      {"99999999999999999999999", "", kMaxRetryAfter},
      {"-99999999999999999999999", "", std::nullopt},
      {"", R"("retryAfterSeconds":9223372036854775807)", kMaxRetryAfter},
  }));
  CAPTURE(row.header, row.details);
  std::vector<runtime::Header> headers;
  if (*row.header != '\0') headers.push_back({"retry-after", row.header});
  const std::string body =
      statusWith(R"("reason":"TooManyRequests","details":{)" + std::string{row.details} + "}");
  CHECK(errorOf(headOf(429, headers), body).retryAfter == row.expected);
  if (*row.details == '\0') CHECK(errorOf(headOf(503, headers), "away").retryAfter == row.expected);
}

TEST_CASE("messages about Secrets are withheld if they may quote their data") {
  const auto bodyOf = [](const char* reason, const char* details) {
    return statusWith(R"("reason":")" + std::string{reason} +
                      R"(","message":"quotes hunter2","details":{"name":"s",)" + details +
                      R"("causes":[{"reason":"r","message":"quotes hunter2","field":"data.x"}]})");
  };
  struct Row {
    const char* about;
    int status;
    const char* reason;
    const char* details;
    MessagePolicy messagePolicy;
    const char* message;
  };
  const Row row = GENERATE(values<Row>({
      {"the kind Secret", 422, "Invalid", R"("kind":"Secret",)", MessagePolicy::Quote,
       "Secret \"s\" failed: Invalid (the message is omitted because it may quote the Secret)"},
      {"the resource secrets", 403, "Forbidden", R"("kind":"secrets",)", MessagePolicy::Quote,
       "secrets \"s\" failed: Forbidden (the message is omitted because it may quote the Secret)"},
      {"a request for Secrets", 400, "BadRequest", "", MessagePolicy::Withhold,
       "the request \"s\" failed: BadRequest (the message is omitted because it may quote the Secret)"},
      {"fixed message", 404, "NotFound", R"("kind":"secrets",)", MessagePolicy::Quote, "quotes hunter2"},
      {"another group", 422, "Invalid", R"("kind":"Secret","group":"example.com",)", MessagePolicy::Quote,
       "quotes hunter2"},
      {"another kind", 422, "Invalid", R"("kind":"ConfigMap",)", MessagePolicy::Quote, "quotes hunter2"},
  }));
  CAPTURE(row.about);
  const ApiError error = errorOf(headOf(row.status), bodyOf(row.reason, row.details), row.messagePolicy);
  CHECK(error.message == row.message);
  REQUIRE(error.causes.size() == 1);
  CHECK(error.causes[0].field == "data.x");
  const bool about = row.messagePolicy == MessagePolicy::Withhold ||
                     std::string{row.details}.find("group") == std::string::npos;
  const bool configMap = std::string{row.details}.find("ConfigMap") != std::string::npos;
  CHECK(error.causes[0].message == (about && !configMap ? "" : "quotes hunter2"));
}

TEST_CASE("a message is one line of limited length") {
  CHECK(errorOf(headOf(400), statusWith(R"("message":"a\nb\u001b[31m\u007f")")).message == "a b [31m ");
  const std::string body =
      statusWith(R"("message":")" + std::string(kMaxErrorMessage - 4, 'x') + "\xE2\x82\xAC" + R"(yyyy")");
  const std::string message = errorOf(headOf(400), body).message;
  CHECK(message.size() <= kMaxErrorMessage);
  CHECK(message == std::string(kMaxErrorMessage - 4, 'x') + "...");
  std::string causes;
  for (int i = 0; i < 100; ++i) causes += R"({"reason":"r"},)";
  causes.back() = ' ';
  CHECK(errorOf(headOf(422), statusWith(R"("details":{"causes":[)" + causes + "]}")).causes.size() ==
        kMaxCauses);
}

TEST_CASE("the Status of an ERROR event contains the HTTP status code") {
  const auto parsed = [](const std::string& text) {
    json::Document document;
    json::parse(text, document);
    return errorOf(document);
  };
  CHECK(parsed(statusWith(R"("reason":"Expired","code":410,"message":"too old")")).reason == Reason::Gone);
  CHECK(parsed(statusWith(R"("code":410)")).reason == Reason::Gone);
  CHECK(parsed(statusWith(R"("code":7)")).reason == Reason::Internal);
  CHECK(parsed(statusWith(R"("message":"etcd is away")")).message == "etcd is away");
  CHECK(parsed("{}").message == "the server sent an error that is not a Status");
}

TEST_CASE("transport failures") {
  using runtime::Stage;
  using runtime::TransportProblem;
  struct Row {
    TransportProblem problem;
    Reason expected;
    bool transient;
  };
  const Row row = GENERATE(values<Row>({
      {TransportProblem::Unreachable, Reason::Transport, true},
      {TransportProblem::Closed, Reason::Transport, true},
      {TransportProblem::Untrusted, Reason::Transport, true},
      {TransportProblem::TimedOut, Reason::Timeout, true},
      {TransportProblem::Cancelled, Reason::Transport, true},
      {TransportProblem::BadRequest, Reason::BadRequest, false},
  }));
  const ApiError error = errorOf(runtime::TransportError{Stage::Send, row.problem, "m", false});
  CHECK(error.reason == row.expected);
  CHECK(error.status == 0);
  CHECK(error.message == "m");
  CHECK(error.transient() == row.transient);
}

TEST_CASE("reasons have names") {
  CHECK(nameOf(Reason::NotFound) == "NotFound");
  CHECK(nameOf(Reason::Unavailable) == "Unavailable");
  CHECK(nameOf(Reason::Transport) == "Transport");
  CHECK(nameOf(Reason::Other) == "Other");
}

}  // namespace dynamo::kube

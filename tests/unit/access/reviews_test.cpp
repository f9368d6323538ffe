#include "controller/access/reviews.h"

#include <catch2/catch.hpp>
#include <string>

#include "common/json/parse.h"

namespace dynamo::access {
namespace {

json::Document parsed(const std::string& text) {
  json::Document document;
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

constexpr const char* kUser = R"({"username":"system:serviceaccount:a:b","uid":"u","groups":["g","h"],)"
                              R"("extra":{"example.org/k":["v"]}})";

std::string reviewOf(const std::string& status) {
  return accessReview(parsed(R"({"kind":"TokenReview","status":)" + status + "}"), "/metrics")
      .value_or("none");
}

}  // namespace

TEST_CASE("a bearer token") {
  CHECK(bearerToken("Bearer abc.d-e_f~+/=") == "abc.d-e_f~+/=");
  CHECK(bearerToken("bEARER  x") == "x");
  for (const char* other : {"", "Bearer", "Bearer ", "Bearer  ", "Bearerx", "Basic abc", "abc", "Bearer a b",
                            "Bearer a\tb", "Bearer \xc3\xa9", "Bearer a,b c"}) {
    CAPTURE(other);
    CHECK_FALSE(bearerToken(other).has_value());
  }
}

TEST_CASE("the API server is asked about the token and then about its user") {
  CHECK(tokenReview("a\"b") ==
        R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"a\"b"}})");
  CHECK(reviewOf(std::string{R"({"authenticated":true,"user":)"} + kUser + "}") ==
        R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{)"
        R"("user":"system:serviceaccount:a:b","uid":"u","groups":["g","h"],"extra":{"example.org/k":["v"]},)"
        R"("nonResourceAttributes":{"path":"/metrics","verb":"get"}}})");
  CHECK(reviewOf(R"({"authenticated":true,"user":{"username":"jane"}})") ==
        R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"jane",)"
        R"("nonResourceAttributes":{"path":"/metrics","verb":"get"}}})");
}

TEST_CASE("only a user who is authenticated explicitly has the token") {
  for (const std::string& status :
       {std::string{R"({"error":"invalid bearer token"})"}, std::string{R"({"authenticated":false})"},
        std::string{R"({"authenticated":false,"user":)"} + kUser + "}",
        std::string{R"({"authenticated":"true","user":)"} + kUser + "}",
        std::string{R"({"authenticated":true})"}, std::string{R"({"authenticated":true,"user":{}})"},
        std::string{R"({"user":)"} + kUser + "}", std::string{"null"}, std::string{"[]"}}) {
    CAPTURE(status);
    CHECK(reviewOf(status) == "none");
  }
}

TEST_CASE("only an explicit answer allows the access") {
  CHECK(allows(parsed(R"({"status":{"allowed":true}})")));
  CHECK(allows(parsed(R"({"status":{"allowed":true,"denied":false,"evaluationError":"x"}})")));
  for (const char* answer :
       {"{}", "[]", R"({"status":{}})", R"({"status":{"allowed":false}})",
        R"({"status":{"allowed":true,"denied":true}})", R"({"status":{"allowed":"true"}})"}) {
    CAPTURE(answer);
    CHECK_FALSE(allows(parsed(answer)));
  }
}

}  // namespace dynamo::access

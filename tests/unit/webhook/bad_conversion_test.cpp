// Invalid ConversionReviews and the exact answer to each.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

constexpr std::string_view kHead =
    R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":)";
constexpr std::string_view kRequest = R"({"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1","objects":)";
constexpr std::string_view kObject =
    R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest","metadata":{"name":"a"}})";

std::string with(std::string_view request) {
  return std::string{kHead} + std::string{request};
}
/// A review whose list is `objects`, followed by `rest` instead of the closing braces.
std::string list(std::string_view objects, std::string_view rest = "}}") {
  return std::string{kHead} + std::string{kRequest} + std::string{objects} + std::string{rest};
}

std::string answered(std::string body) {
  const Reply reply = ask(kConvert, std::move(body));
  const json::Document answer = parsed(reply);
  if (reply.status == 200) {
    const json::Value* response = json::find(&answer, "response");
    CHECK(json::findText(response, "uid") == "u");
    return "200 " + std::string{json::findText(json::find(response, "result"), "status")};
  }
  CHECK(answer["code"].GetInt() == reply.status);
  return std::to_string(reply.status) + " " + std::string{json::findText(&answer, "message")};
}

/// `400 byte <length of everything before "@">: <reason>`; the mark itself is not sent.
struct Marked {
  const char* name;
  std::string body;
  const char* reason;
};

TEST_CASE("malformed text is answered 400 with the byte offset") {
  const std::string object{kObject};
  const Marked rows[] = {
      {"empty", "@", "expected '{'"},
      {"blank", "  @", "expected '{'"},
      {"no JSON", "@hello", "expected '{'"},
      {"null", "@null", "expected '{'"},
      {"array", "@[]", "expected '{'"},
      {"string", "@\"x\"", "expected '{'"},
      {"truncated before a name", "{@", "expected a member name"},
      {"truncated in the envelope", R"({"kind":"ConversionReview"@)", "expected '}'"},
      {"member without a value", R"({"kind"@})", "expected ':'"},
      {"invalid name", R"({@kind:1})", "expected a member name"},
      {"trailing comma in the envelope", R"({"x":1,@})", "expected a member name"},
      {"truncated in the list", list("[" + object, "@"), "expected ','"},
      {"no comma in the list", list("[" + object + "@" + object + "]"), "expected ','"},
      {"truncated after the list", list("[]", "@"), "expected '}'"},
      {"one brace too few", list("[]", "}@"), "expected '}'"},
      {"one brace too many", list("[]", "}}@}"), "text after the review"},
      {"text after the review", list("[" + object + "]", "}}@x"), "text after the review"},
      {"a second review", list("[]", "}}@{}"), "text after the review"},
      {"malformed tail", list("[]", ",@x:1}}"), "expected a member name"},
      {"NUL after the review", list("[]", "}}@") + std::string{'\0'}, "invalid character"},
      {"a million brackets", list(std::string(262, '[') + "@" + std::string(999'738, '['), ""),
       "nested too deeply"},
      {"1e400", list("[@1e400]"), "number out of range"},
      {"1.9e308", list("[@1.9e308]"), "number out of range"},
      {"400 digits", list("[@" + std::string(400, '9') + "]"), "number out of range"},
      {"invalid UTF-8 in an object", list("[\"@\xFF\"]"), "invalid UTF-8"},
      {"lone surrogate", list(R"(["@\ud800"])"), "unpaired surrogate escape"},
      {"NaN", list("[@NaN]"), "Invalid value."},
      {"trailing comma in the list", list("[" + object + ",@]"), "Invalid value."},
  };
  for (const Marked& row : rows) {
    INFO(row.name);
    std::string body = row.body;
    const std::size_t at = body.find('@');
    REQUIRE(at != std::string::npos);
    body.erase(at, 1);
    CHECK(answered(body) == "400 byte " + std::to_string(at) + ": " + row.reason);
  }
}

TEST_CASE("a well-formed body that is no ConversionReview") {
  struct Row {
    const char* name;
    std::string body;
    const char* expected;
  };
  const Row rows[] = {
      {"empty object", "{}", "400 byte 2: request.objects: Required value"},
      {"request null", with("null}"), "400 byte 81: request.objects: Required value"},
      {"request a list", with("[]}"), "400 byte 79: request.objects: Required value"},
      {"no objects", with(R"({"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1"}})"),
       "400 byte 129: request.objects: Required value"},
      {"objects null", list("null"), "400 byte 144: request.objects: Required value"},
      {"objects an object", list("{}"), "400 byte 142: request.objects: Required value"},
      {"no uid", with(R"({"desiredAPIVersion":"nvidia.com/v1beta1","objects":[]}})"),
       "400 request.uid: Required value"},
      {"uid a number", with(R"({"uid":7,"desiredAPIVersion":"nvidia.com/v1beta1","objects":[]}})"),
       "400 request.uid: Required value"},
      {"another kind",
       R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","objects":[]}})",
       R"(400 must be apiextensions.k8s.io/v1 ConversionReview, got "admission.k8s.io/v1" "AdmissionReview")"},
      {"no kind", R"({"apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","objects":[]}})",
       R"(400 must be apiextensions.k8s.io/v1 ConversionReview, got "apiextensions.k8s.io/v1" "")"},
      {"kind a list",
       R"({"kind":[],"apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","objects":[]}})",
       R"(400 must be apiextensions.k8s.io/v1 ConversionReview, got "apiextensions.k8s.io/v1" "")"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(answered(row.body) == row.expected);
  }
}

TEST_CASE("a duplicate member is rejected at every level") {
  const std::string tail = R"(,"desiredAPIVersion":"nvidia.com/v1beta1","objects":[]}})";
  const std::string bodies[] = {
      R"({"kind":"ConversionReview","kind":"ConversionReview")" + list("[]").substr(26),
      with(R"({"uid":"u","uid":"v")" + tail),
      with(R"({"uid":"","uid":"u")" + tail),
      with(R"({"uid":7,"uid":"u")" + tail),
      with(R"({"x":1,"x":2,"uid":"u")" + tail),
      with(R"({"objects":[],"objects":[],"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1"}})"),
      with(R"({"objects":null,"objects":[],"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1"}})"),
      list("[]", R"(,"objects":[]}})"),
      list("[]", R"(,"desiredAPIVersion":"nvidia.com/v1alpha1"}})"),
      list("[]", R"(,"uid":"v"}})"),
      list("[]", R"(},"apiVersion":"apiextensions.k8s.io/v1"})"),
      list("[]", R"(},"request":{}})"),
      with(R"({},"request":)") + std::string{kRequest} + "[]}}",
      list(R"([{"a":1,"a":2}])"),
      list(R"([{"x":[{"b":1,"a":1,"b":2}]}])"),
  };
  for (const std::string& body : bodies) {
    INFO(body);
    CHECK(answered(body).find(": duplicate name") != std::string::npos);
  }
}

TEST_CASE("an escaped name counts as a duplicate, also in a large object") {
  const std::string filler = std::string(70'000, 'x');
  const std::string annotations =
      R"({"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","f":")" + filler + "\"}}";
  const std::string bodies[] = {
      list(R"([{"metadat\u0061":{},"metadata":)" + annotations + "}]"),
      list(R"([{"metadata":{"annot\u0061tions":{},)" + annotations.substr(1) + "}]"),
      list(R"([{"metadata":)" + annotations + R"(,"metadat\u0061":{}}])"),
  };
  for (const std::string& body : bodies) {
    INFO(body.substr(0, 200));
    CHECK(answered(body).find(": duplicate name") != std::string::npos);
  }
}

TEST_CASE("an object of more than 8 MiB is rejected before all of it is read") {
  std::string zeros = "0";
  while (zeros.size() < (std::size_t{9} << 20)) zeros += ",0";
  CHECK(answered(list("[{\"a\":[" + zeros + "]}]")) == "400 byte 139: the object has more than 8 MiB");
  const std::string text(std::size_t{9} << 20, 'x');
  CHECK(answered(list("[{\"a\":\"" + text + "\"}]")) == "400 byte 139: the object has more than 8 MiB");
  // The size of the list is not limited.
  const std::string most = "{\"a\":\"" + text.substr(0, (std::size_t{8} << 20) - 8) + "\"}";
  CHECK(answered(list("[" + most + "," + most + "]")).find("8 MiB") == std::string::npos);
}

TEST_CASE("too many members in the envelope are rejected early") {
  std::string members;
  for (int i = 0; i < 100'000; ++i) members += "\"" + std::to_string(i) + "\":0,";
  const std::string tail = R"("uid":"u","desiredAPIVersion":"nvidia.com/v1beta1","objects":[]}})";
  CHECK(answered(with("{" + members + tail)).ends_with(": too many members"));
  CHECK(answered("{" + members + list("[]").substr(1)).ends_with(": too many members"));
  CHECK(answered(list("[]", "," + members + "\"x\":0}}")).ends_with(": too many members"));
}

TEST_CASE("the text after the list is checked before the answer") {
  CHECK(answered(list("[" + std::string{kObject} + "]")) == "200 Success");
  CHECK(answered(list("[" + std::string{kObject} + "]", ",")).starts_with("400 "));
  CHECK(answered(list("[" + std::string{kObject} + "," + std::string{kObject}, "")).starts_with("400 "));
}

}  // namespace
}  // namespace dynamo::webhook::test

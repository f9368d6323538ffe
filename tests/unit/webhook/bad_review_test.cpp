// Invalid admission reviews, reviews of objects that cannot be validated, and the exact answer to each.

#include <catch2/catch.hpp>
#include <string>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

constexpr const char* kNull = "null";

std::string envelope(std::string_view members) {
  return "{" + std::string{members} + "}";
}

constexpr std::string_view kHead = R"("apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview")";

std::string request(std::string_view members) {
  return envelope(std::string{kHead} + R"(,"request":{)" + std::string{members} + "}");
}

/// A valid CREATE with `value` at spec.features.planner.x, where the schema allows any JSON.
std::string holding(std::string_view value) {
  return review("CREATE", dgdr(R"({"model":"m","features":{"planner":{"x":)" + std::string{value} + "}}}"));
}

std::string manyMembers(int count) {
  std::string members;
  for (int i = 0; i < count; ++i) members += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  return members;
}

struct Row {
  const char* name;
  std::string body;
  std::string expected;
};

std::vector<Row> bodies() {
  const std::string good = review("CREATE", goodDgdr());
  const auto at = [](std::size_t column, const std::string& reason) {
    return "400 line 1, column " + std::to_string(column) + ": " + reason;
  };
  const std::size_t value = holding("@").find('@') + 1;
  const std::string comma = "Missing a comma or '}' after an object member.";
  const std::string rooted = "The document root must not be followed by other values.";
  return {
      {"empty", "", at(1, "The document is empty.")},
      {"blank", " \n\t ", "400 line 2, column 3: The document is empty."},
      {"no JSON", "hello", at(1, "Invalid value.")},
      {"truncated", R"({"apiVersion":"admission.k8s.io/v1")", at(36, comma)},
      {"truncated in a string", R"({"apiVersion":"adm)",
       at(19, "Missing a closing quotation mark in string.")},
      {"text after the review", good + "x", at(good.size() + 1, rooted)},
      {"two documents", "{}{}", at(3, rooted)},
      {"NUL after the review", std::string{"{}\0", 3}, at(3, "invalid character")},
      {"byte order mark", "\xEF\xBB\xBF{}", at(1, "invalid character")},
      {"too many members", "{" + manyMembers(4097) + "}",
       "400 line 1, column 1: Too many: must have at most 4096 members"},
      {"too many nested members", "{\"request\":[{" + manyMembers(4097) + "}]}",
       "400 line 1, column 1: request[0]: Too many: must have at most 4096 members"},
      {"the largest number of members", "{" + manyMembers(4096) + "}",
       R"(400 must be admission.k8s.io/v1 AdmissionReview, got "" "")"},
      {"null", "null", R"(400 must be admission.k8s.io/v1 AdmissionReview, got "" "")"},
      {"array", "[]", R"(400 must be admission.k8s.io/v1 AdmissionReview, got "" "")"},
      {"string", "\"x\"", R"(400 must be admission.k8s.io/v1 AdmissionReview, got "" "")"},
      {"number", "7", R"(400 must be admission.k8s.io/v1 AdmissionReview, got "" "")"},
      {"empty object", "{}", R"(400 must be admission.k8s.io/v1 AdmissionReview, got "" "")"},
      {"old version",
       R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u"}})",
       R"(400 must be admission.k8s.io/v1 AdmissionReview, got "admission.k8s.io/v1beta1" "AdmissionReview")"},
      {"another kind",
       R"({"apiVersion":"admission.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u"}})",
       R"(400 must be admission.k8s.io/v1 AdmissionReview, got "admission.k8s.io/v1" "ConversionReview")"},
      {"version is a number", R"({"apiVersion":1,"kind":"AdmissionReview","request":{"uid":"u"}})",
       R"(400 must be admission.k8s.io/v1 AdmissionReview, got "" "AdmissionReview")"},
      {"no request", envelope(kHead), "400 request: Required value"},
      {"null request", envelope(std::string{kHead} + R"(,"request":null)"), "400 request: Required value"},
      {"request is a list", envelope(std::string{kHead} + R"(,"request":[])"), "400 request: Required value"},
      {"no uid", request(R"("operation":"DELETE")"), "400 request.uid: Required value"},
      {"empty uid", request(R"("uid":"")"), "400 request.uid: Required value"},
      {"uid is a number", request(R"("uid":7)"), "400 request.uid: Required value"},
      {"envelope member twice", envelope(std::string{kHead} + R"(,"kind":"AdmissionReview")"),
       "400 line 1, column 1: duplicate name \"kind\""},
      {"request member twice", request(R"("uid":"u","uid":"v")"),
       "400 line 1, column 1: duplicate name request.\"uid\""},
      {"member twice deep inside", holding(R"({"a":[{},{"b":1,"c":2,"b":3}]})"),
       "400 line 1, column 1: duplicate name request.object.spec.features.planner.x.a[1].\"b\""},
      {"member twice, once escaped", holding(R"({"a":1,"\u0061":2})"),
       "400 line 1, column 1: duplicate name request.object.spec.features.planner.x.\"a\""},
      {"a million brackets", std::string(1'000'000, '['), at(257, "nested too deeply")},
      {"a million braces",
       [] {
         std::string text;
         for (int i = 0; i < 1'000'000; ++i) text += R"({"a":)";
         return text;
       }(),
       at(1281, "nested too deeply")},
      {"NaN", holding("NaN"), at(value, "Invalid value.")},
      {"Infinity", holding("-Infinity"), at(value + 1, "Invalid value.")},
      {"hexadecimal", holding("0x10"), at(value + 1, comma)},
      {"leading zero", holding("01"), at(value + 1, comma)},
      {"1e400", holding("1e400"), at(value, "number out of range")},
      {"exponent that overflows an int", holding("1e99999999999999999999"), at(value, "number out of range")},
      {"exponent that underflows an int", holding("1e-99999999999999999999"),
       at(value, "number out of range")},
      {"1.9e308", holding("1.9e308"), at(value, "number out of range")},
      {"1e-324", holding("1e-324"), at(value, "number out of range")},
      {"400 digits", holding(std::string(400, '9')), at(value, "number out of range")},
      {"400 decimals", holding("0." + std::string(400, '9')), at(value, "number out of range")},
      {"invalid UTF-8", holding("\"\xFF\""), at(value + 1, "invalid UTF-8")},
      {"overlong UTF-8", holding("\"\xC0\xAF\""), at(value + 1, "invalid UTF-8")},
      {"UTF-8 of a surrogate", holding("\"\xED\xA0\x80\""), at(value + 1, "invalid UTF-8")},
      {"lone high surrogate", holding(R"("\ud800")"), at(value + 1, "unpaired surrogate escape")},
      {"lone low surrogate", holding(R"("\udc00")"), at(value + 1, "unpaired surrogate escape")},
      {"two high surrogates", holding(R"("\ud800\ud800")"), at(value + 1, "unpaired surrogate escape")},
      {"raw control character", holding("\"a\nb\""), at(value + 2, "control character in a string")},
      {"unknown escape", holding(R"("\x")"), at(value + 1, "Invalid escape character in string.")},
      {"comment", "/* */{}", at(1, "Invalid value.")},
      {"trailing comma", R"({"a":1,})", at(8, "Missing a name for object member.")},
  };
}

TEST_CASE("a body that is no review is answered 400 with the position") {
  for (const std::string_view path : {kValidate, kMutate}) {
    for (const Row& row : bodies()) {
      INFO(row.name << " at " << path);
      CHECK(outcome(ask(path, row.body)) == row.expected);
    }
  }
}

TEST_CASE("a position counts the lines of the body") {
  CHECK(outcome(ask(kValidate, "{\n  \"a\\n\": 1,\n  \"b\": [1, 2\n}")) ==
        "400 line 4, column 1: Missing a comma or ']' after an array element.");
}

TEST_CASE("unusual but valid reviews are validated") {
  const Row rows[] = {
      {"largest integer", holding("9223372036854775807"), "allowed"},
      {"largest double", holding("1.7976931348623157e308"), "allowed"},
      {"300 digits", holding(std::string(300, '9')), "allowed"},
      {"smallest double", holding("5e-324"), "allowed"},
      {"surrogate pair", holding(R"("\ud83d\ude00")"), "allowed"},
      {"NUL escape", holding(R"("a\u0000b")"), "allowed"},
      {"256 levels less the 6 around", holding(std::string(250, '[') + std::string(250, ']')), "allowed"},
      {"257 levels", holding(std::string(251, '[') + std::string(251, ']')),
       "400 line 1, column 647: nested too deeply"},
      {"white space around", " \r\n\t" + review("CREATE", goodDgdr()) + "\n\n", "allowed"},
      {"unknown members", request(R"("uid":"u","operation":"DELETE","later":{"a":[1]})"), "allowed"},
      {"members that differ in case", request(R"("uid":"u","UID":"v","operation":"DELETE")"), "allowed"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(outcome(ask(kValidate, row.body)) == row.expected);
  }
}

TEST_CASE("objects that cannot be validated are denied with 400") {
  const std::string good = goodDgdr();
  const std::string alpha =
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeploymentRequest","metadata":{"name":"r"}})";
  const std::string graph =
      R"({"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeployment","metadata":{"name":"r"}})";
  constexpr const char* kOther =
      R"(denied 400 BadRequest: request.object: must be nvidia.com/v1beta1 DynamoGraphDeploymentRequest, got )";
  const Row rows[] = {
      {"object null", review("CREATE", kNull), "denied 400 BadRequest: request.object: Required value"},
      {"object missing", request(R"("uid":"u","operation":"CREATE")"),
       "denied 400 BadRequest: request.object: Required value"},
      {"object a list", review("CREATE", "[]"), "denied 400 BadRequest: request.object: Required value"},
      {"object a string", review("UPDATE", "\"x\"", good),
       "denied 400 BadRequest: request.object: Required value"},
      {"UPDATE without oldObject", review("UPDATE", good),
       "denied 400 BadRequest: request.oldObject: Required value"},
      {"UPDATE with oldObject null", review("UPDATE", good, kNull),
       "denied 400 BadRequest: request.oldObject: Required value"},
      {"no operation", request(R"("uid":"u")"),
       R"(denied 400 BadRequest: request.operation: Unsupported value: "")"},
      {"operation in lower case", review("create", good),
       R"(denied 400 BadRequest: request.operation: Unsupported value: "create")"},
      {"operation of another type", request(R"("uid":"u","operation":["CREATE"])"),
       R"(denied 400 BadRequest: request.operation: Unsupported value: "")"},
      {"unknown operation with control characters", review("A\\n\\u0001B", good),
       R"(denied 400 BadRequest: request.operation: Unsupported value: "A  B")"},
  };
  for (const std::string_view path : {kValidate, kMutate}) {
    for (const Row& row : rows) {
      INFO(row.name << " at " << path);
      CHECK(outcome(ask(path, row.body)) == row.expected);
    }
    CHECK(outcome(ask(path, review("CREATE", alpha))) ==
          kOther + std::string{R"("nvidia.com/v1alpha1" "DynamoGraphDeploymentRequest")"});
    CHECK(outcome(ask(path, review("CREATE", graph))) ==
          kOther + std::string{R"("nvidia.com/v1beta1" "DynamoGraphDeployment")"});
    CHECK(outcome(ask(path, review("CREATE", "{}"))) == kOther + std::string{R"("" "")"});
    CHECK(
        outcome(ask(path, review("UPDATE", good, alpha))) ==
        "denied 400 BadRequest: request.oldObject: must be nvidia.com/v1beta1 DynamoGraphDeploymentRequest, "
        R"(got "nvidia.com/v1alpha1" "DynamoGraphDeploymentRequest")");
  }
}

TEST_CASE("DELETE and CONNECT are allowed for every object") {
  for (const std::string_view path : {kValidate, kMutate}) {
    for (const char* operation : {"DELETE", "CONNECT"}) {
      for (const std::string& object : {goodDgdr(), std::string{kNull}, std::string{"[7]"}, dgdr("{}")}) {
        INFO(path << " " << operation << " " << object);
        const Reply reply = ask(path, review(operation, object, object));
        CHECK(outcome(reply) == "allowed");
        CHECK(patchOf(reply).empty());
      }
    }
  }
}

TEST_CASE("the uid is returned unchanged") {
  struct Uid {
    const char* written;  ///< as JSON
    std::string read;
  };
  const Uid uids[] = {{R"("705ab4f5-6393-11e8-b7cc-42010a800002")", "705ab4f5-6393-11e8-b7cc-42010a800002"},
                      {R"("\"}],\"allowed\":true,\"x\":\"")", R"("}],"allowed":true,"x":")"},
                      {R"("a\\b/c\/d")", R"(a\b/c/d)"},
                      {R"("\u0000\u001f\n\t")", std::string{"\0\x1F\n\t", 4}},
                      {"\"\xC3\xA9 \xF0\x9F\x98\x80\"", "\xC3\xA9 \xF0\x9F\x98\x80"},
                      {R"(" ")", " "}};
  for (const Uid& uid : uids) {
    INFO(uid.written);
    const std::string body = request(R"("operation":"DELETE","uid":)" + std::string{uid.written});
    CHECK(outcome(ask(kValidate, body), uid.read) == "allowed");
  }
  const std::string longest(100'000, 'u');
  CHECK(outcome(ask(kValidate, request(R"("operation":"DELETE","uid":")" + longest + '"')), longest) ==
        "allowed");
}

}  // namespace
}  // namespace dynamo::webhook::test

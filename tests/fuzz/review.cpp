// Every path of the webhook: the answer to every body is HTTP 200 or 400, is valid JSON and has the uid. The
// first byte selects the path and the meaning of the rest: the body, the object of a CREATE, or the objects
// of an UPDATE separated by a newline.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "common/json/parse.h"
#include "require.h"
#include "webhook/routes.h"

namespace dynamo {
namespace {

using fuzz::require;
using webhook::Routes;

const Routes& routes() {
  static const Routes kRoutes = [] {
    auto settings = std::make_shared<admission::Settings>(config::defaultConfig(), "1.2.3+build");
    settings->dgdr.hardwareRequired = true;
    return Routes{std::make_shared<webhook::CurrentSettings>(std::move(settings)), {}};
  }();
  return kRoutes;
}

std::string bodyOf(unsigned mode, std::string_view text, bool converts) {
  if (mode == 0) return std::string{text};
  std::string body = converts
                         ? R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":)"
                         : R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":)";
  if (converts) {
    body += mode == 1 ? R"({"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1","objects":[)"
                      : R"({"uid":"u","desiredAPIVersion":"nvidia.com/v1alpha1","objects":[)";
    return body.append(text) + "]}}";
  }
  body += R"({"uid":"u","name":"r","namespace":"ns","operation":)";
  if (mode == 1) return body.append(R"("CREATE","object":)").append(text) + "}}";
  const std::size_t split = std::min(text.find('\n'), text.size());
  body.append(R"("UPDATE","object":)").append(text.substr(0, split));
  return body.append(R"(,"oldObject":)").append(text.substr(std::min(split + 1, text.size()))) + "}}";
}

constexpr std::size_t kMessage = std::size_t{6} * 1024;
// The API server's limit for warnings in bytes.
constexpr std::size_t kWarnings = 4096;

/// A text for users must be one line although users choose the names in it.
void checkText(std::string_view text, std::size_t limit, std::string_view about) {
  require(text.size() <= limit, "what is said is short", about);
  require(fuzz::isOneLine(text), "what is said is one line", about);
}

/// Answers to every input must be small.
void checkWords(const json::Value& response, std::string_view about) {
  if (const json::Value* warnings = json::find(response, "warnings")) {
    std::size_t bytes = 0;
    for (const json::Value& warning : warnings->GetArray()) {
      checkText(json::text(warning), kWarnings, about);
      bytes += json::text(warning).size();
    }
    require(bytes <= kWarnings, "warnings arrive whole", about);
  }
  for (const char* name : {"status", "result"}) {
    const json::Value* status = json::find(response, name);
    checkText(json::findText(status, "message"), kMessage, about);
    const json::Value* causes = json::find(json::find(status, "details"), "causes");
    if (causes == nullptr) continue;
    for (const json::Value& cause : causes->GetArray()) {
      checkText(json::findText(&cause, "field"), kMessage, about);
      checkText(json::findText(&cause, "message"), kMessage, about);
    }
  }
}

void checkBody(std::string_view path, const std::string& body) {
  webhook::HttpRequest request{body};
  const webhook::Reply reply = routes().find(path)->handle(request);
  require(reply.status == 200 || reply.status == 400, "HTTP 200 or 400", body);
  json::Document answer;
  require(!json::parse(reply.body, answer), "the answer is JSON", reply.body);
  if (reply.status == 400) {
    require(!json::findText(&answer, "message").empty(), "a refusal says why", reply.body);
    checkText(json::findText(&answer, "message"), kMessage, reply.body);
    return;
  }
  json::Document review;
  require(!json::parse(body, review) || path == "/convert", "what is answered 200 is JSON", body);
  const json::Value* response = json::find(&answer, "response");
  const std::string_view uid = json::findText(response, "uid");
  require(!uid.empty(), "the uid is there", reply.body);
  checkWords(*response, reply.body);
  // A conversion fails at the first invalid object and does not read the next ones.
  if (review.HasParseError() || !review.IsObject()) return;
  require(uid == json::findText(json::find(&review, "request"), "uid"), "the uid is echoed", body);
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto paths = dynamo::webhook::admissionRoutes();
  // Paths with rules and conversion are selected more often than the ones that admit everything.
  const unsigned choice = data[0] % 32U;
  std::string_view path = "/convert";
  if (choice < paths.size()) {
    path = paths[choice].path;
  } else if (choice < 22) {
    path = paths[7 + choice % 2].path;
  }
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  dynamo::checkBody(path, dynamo::bodyOf(data[0] / 32U % 3U, text, path == "/convert"));
  return 0;
}

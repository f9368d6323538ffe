#include "webhook/review/admission.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/json/parse.h"
#include "webhook/review/arena.h"
#include "webhook/review/base64.h"
#include "webhook/review/status.h"

namespace dynamo::webhook {
namespace {

using json::Value;

constexpr std::string_view kReviewVersion = "admission.k8s.io/v1";
constexpr std::string_view kReviewKind = "AdmissionReview";
constexpr int kBadRequest = 400;
// Members of one JSON object. The rules look up members linearly, so their cost can grow with the square of
// this number. Labels, annotations and services of real objects stay below 100.
constexpr std::size_t kMaxMembers = 4096;

// The API server passes on at most 4096 bytes of warnings. Above that it truncates each warning to 256 bytes
// and drops those that still do not fit, without any indication.
constexpr std::size_t kMaxWarningsBytes = 4096;
constexpr std::size_t kMaxWarningBytes = 256;
constexpr std::size_t kMoreWarningsBytes = 32;  // for "and N more warnings"

/// `logged`: the message for the log, which must not quote the body.
Reply refuse(std::string_view message, std::string_view logged) {
  json::TextWriter writer;
  writeFailure(writer, kBadRequest, "BadRequest", message);
  return {kBadRequest, "application/json", writer.take(), false, logged};
}

/// The member if it is an object, or else nullptr.
Value* objectOf(Value& request, std::string_view key) {
  Value* value = json::find(request, key);
  return value != nullptr && value->IsObject() ? value : nullptr;
}

/// Fills `review` from the envelope. Returns the refusal if the envelope is invalid.
std::optional<Reply> decode(json::Document& body, Review& review) {
  const std::string_view version = json::findText(&body, "apiVersion");
  const std::string_view kind = json::findText(&body, "kind");
  if (version != kReviewVersion || kind != kReviewKind) {
    return refuse(fmt::format("must be {} {}, got {} {}", kReviewVersion, kReviewKind,
                              field::showValue(version), field::showValue(kind)),
                  "the body is not an AdmissionReview of admission.k8s.io/v1");
  }
  Value* request = json::find(body, "request");
  if (request == nullptr || !request->IsObject())
    return refuse("request: Required value", "the review has no request");
  review.uid = json::findText(request, "uid");
  if (review.uid.empty()) return refuse("request.uid: Required value", "the review has no uid");
  review.operation = json::findText(request, "operation");
  review.name = json::findText(request, "name");
  review.namespaceName = json::findText(request, "namespace");
  review.clientVersion = json::findText(json::find(request, "requestKind"), "version");
  if (review.clientVersion.empty()) {
    review.clientVersion = json::findText(json::find(request, "kind"), "version");
  }
  review.username = json::findText(json::find(request, "userInfo"), "username");
  review.object = objectOf(*request, "object");
  review.old = objectOf(*request, "oldObject");
  return std::nullopt;
}

/// Why the objects of a CREATE or UPDATE cannot be read; empty if they can.
std::string checkObjects(const Review& review, const AdmissionKind& kind) {
  const auto check = [&](const char* what, const Value* object) -> std::string {
    if (object == nullptr) return fmt::format("request.{}: Required value", what);
    const std::string_view version = json::findText(object, "apiVersion");
    const std::string_view name = json::findText(object, "kind");
    // A webhook configuration that lists several versions would send objects of another version without
    // conversion. They are rejected, because their fields could have another meaning.
    if (version != kind.apiVersion || name != kind.kind) {
      return fmt::format("request.{}: must be {} {}, got {} {}", what, kind.apiVersion, kind.kind,
                         field::showValue(version), field::showValue(name));
    }
    return {};
  };
  std::string problem = check("object", review.object);
  if (problem.empty() && review.updates()) problem = check("oldObject", review.old);
  return problem;
}

/// The texts of the warnings, the most important first. If they are too long together, long ones are
/// shortened and the last ones are replaced by their number.
std::vector<std::string> warningsSent(const std::vector<field::Warning>& warnings) {
  std::vector<std::string> whole;
  whole.reserve(warnings.size());
  std::size_t bytes = 0;
  for (const field::Warning& warning : warnings) bytes += whole.emplace_back(warning.message()).size();
  if (bytes <= kMaxWarningsBytes) return whole;
  std::vector<std::string> sent;
  bytes = 0;
  for (std::size_t left = whole.size(); left > 0; --left) {
    std::string text = field::cutAtWord(whole[sent.size()], kMaxWarningBytes);
    bytes += text.size();
    if (bytes > kMaxWarningsBytes - (left == 1 ? 0 : kMoreWarningsBytes)) {
      sent.push_back(fmt::format("and {} more warnings", left));
      break;
    }
    sent.push_back(std::move(text));
  }
  return sent;
}

void writeWarnings(json::TextWriter& writer, const field::Findings& findings) {
  if (findings.warnings.empty()) return;
  writer.key("warnings");
  writer.StartArray();
  for (const std::string& text : warningsSent(findings.warnings)) writer.string(text);
  writer.EndArray();
}

/// `badRequest`: why the object cannot be read; empty if it can.
std::string encode(const Review& review, const AdmissionKind& kind, const std::string& badRequest,
                   const admission::Decision& decision) {
  json::TextWriter writer;
  writer.StartObject();
  writeMember(writer, "apiVersion", kReviewVersion);
  writeMember(writer, "kind", kReviewKind);
  writer.key("response");
  writer.StartObject();
  writeMember(writer, "uid", review.uid);
  writer.key("allowed");
  writer.Bool(badRequest.empty() && decision.allowed());
  if (!badRequest.empty()) {
    writer.key("status");
    writeFailure(writer, kBadRequest, "BadRequest", badRequest);
  } else if (!decision.allowed()) {
    writer.key("status");
    writeInvalid(writer, {kind.kind, review.objectName()}, decision.findings.errors);
  } else if (!decision.patch.empty()) {
    writeMember(writer, "patchType", "JSONPatch");
    writeMember(writer, "patch", base64(decision.patch));
  }
  writeWarnings(writer, decision.findings);
  writer.EndObject();
  writer.EndObject();
  return writer.take();
}

}  // namespace

std::string_view Review::objectName() const {
  return name.empty() ? json::findText(json::find(object, "metadata"), "name") : name;
}

Reply answerAdmission(HttpRequest& request, const AdmissionKind& kind, const Admit& admit,
                      const ObserveAdmission& observe) {
  alignas(std::max_align_t) std::array<char, kArenaBytes> arena;
  json::Allocator allocator{arena.data(), arena.size()};
  json::Document body{&allocator, kParseStack};
  if (const auto error = json::parseInsitu(request.body, body, kMaxMembers))
    return refuse(error->message(), "the body cannot be read as a review");
  Review review;
  if (auto refusal = decode(body, review)) return std::move(*refusal);
  admission::Decision decision;
  std::string badRequest;
  if (review.creates() || review.updates()) {
    badRequest = checkObjects(review, kind);
    if (badRequest.empty()) {
      const admission::Request asked{kind.kind, review.namespaceName, review.clientVersion, review.username,
                                     review.updates() ? review.old : nullptr};
      decision = admit(*review.object, asked, body.GetAllocator());
    }
  } else if (review.operation != "DELETE" && review.operation != "CONNECT") {
    badRequest = fmt::format("request.operation: Unsupported value: {}", field::showValue(review.operation));
  }
  const bool selfCheck = review.uid == kSelfCheckUid;
  if (observe && !selfCheck) {
    const bool readable = badRequest.empty();
    observe({review.operation, readable && decision.allowed(), readable, &decision.findings.errors, &review});
  }
  return {200, "application/json", encode(review, kind, badRequest, decision), selfCheck};
}

}  // namespace dynamo::webhook

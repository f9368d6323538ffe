#include "webhook/review/conversion.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "common/conversion/dgdr.h"
#include "common/field/finding.h"
#include "common/json/parse.h"
#include "common/k8s/object.h"
#include "webhook/review/admission.h"
#include "webhook/review/arena.h"
#include "webhook/review/envelope.h"
#include "webhook/review/status.h"

namespace dynamo::webhook {
namespace {

using conversion::View;

constexpr std::string_view kGroupPrefix = "apiextensions.k8s.io/";
constexpr std::string_view kReviewKind = "ConversionReview";
constexpr std::string_view kUnreadable = "the body cannot be read as a review";

// Every admitted object must be convertible. The list of objects adds one level to the depth of an admission
// review, and the conversion adds one level.
constexpr std::size_t kMaxReviewDepth = json::kMaxDepth + 8;

/// `logged`: the message for the log, which must not quote the body.
Reply badRequest(std::string_view message, std::string_view logged) {
  json::TextWriter writer;
  writeFailure(writer, 400, "BadRequest", message);
  return {400, "application/json", writer.take(), false, logged};
}

/// Writes the answer: first the head, then one object after the other.
class ConversionResponse {
 public:
  ConversionResponse(const ConversionEnvelope& envelope, std::size_t expected) : writer_(expected) {
    // conv-Q18: the answer has the request's apiVersion.
    writer_.raw(R"({"apiVersion":)");
    writer_.string(envelope.apiVersion);
    writer_.raw(R"(,"kind":"ConversionReview","response":{"uid":)");
    writer_.string(envelope.uid);
    writer_.raw(R"(,"convertedObjects":[)");
    objectsAt_ = writer_.size();
  }

  /// Adds an object. `copiedMembers` replaces the nulls that the reader has put in their place.
  void add(View object, const CopiedMembers& copiedMembers) {
    ++objects_;
    const auto plain = [this](View view) { write(view, writer_); };
    const auto textOr = [&](const std::string& text, View view) {
      text.empty() ? plain(view) : writer_.raw(text);
    };
    const auto annotation = [&](std::string_view name, View view) {
      name == k8s::kLastApplied ? textOr(copiedMembers[kLastAppliedText], view) : plain(view);
    };
    const auto metadata = [&](std::string_view name, View view) {
      if (name == "managedFields") return textOr(copiedMembers[kManagedFields], view);
      name == "annotations" && view.isObject() ? members(view, annotation) : plain(view);
    };
    members(object, [&](std::string_view name, View view) {
      name == "metadata" && view.isObject() ? members(view, metadata) : plain(view);
    });
  }
  std::size_t objects() const { return objects_; }

  std::string finish() {
    writer_.raw(R"(],"result":{"status":"Success"}}})");
    return writer_.take();
  }
  std::string fail(std::string_view message) {
    writer_.truncate(objectsAt_);
    writer_.raw(R"(],"result":{"status":"Failure","message":)");
    writer_.string(field::oneLine(message, kMaxMessageBytes));  // may contain object names and map keys
    writer_.raw(R"(,"code":422}}})");
    return writer_.take();
  }

 private:
  template <class Write>
  void members(View object, const Write& write) {
    writer_.StartObject();
    for (std::uint32_t i = 0; i < object.size(); ++i) {
      const auto member = object.member(i);
      writer_.key(member.name);
      write(member.name, member.view);
    }
    writer_.EndObject();
  }

  json::TextWriter writer_;
  std::size_t objectsAt_ = 0;
  std::size_t objects_ = 0;
};

}  // namespace

Reply answerConversion(HttpRequest& request, const ObserveConversion& observe) {
  const std::size_t size = request.body.size();
  if (const auto error = json::guard(request.body, kMaxReviewDepth)) {
    return badRequest(fmt::format("byte {}: {}", error->offset, error->reason), kUnreadable);
  }
  ConversionEnvelope envelope;
  ConversionReader reader{request.body};
  if (!reader.readEnvelope(envelope)) return badRequest(reader.error(), kUnreadable);
  if (!envelope.apiVersion.starts_with(kGroupPrefix) || envelope.kind != kReviewKind) {
    return badRequest(fmt::format("must be {}v1 {}, got {} {}", kGroupPrefix, kReviewKind,
                                  field::showValue(envelope.apiVersion), field::showValue(envelope.kind)),
                      "the body is not a ConversionReview of apiextensions.k8s.io");
  }
  if (envelope.uid.empty()) return badRequest("request.uid: Required value", "the review has no uid");

  // An object has about an eighth more text in v1beta1 than in v1alpha1. The reserve avoids copies of a long
  // answer.
  ConversionResponse response{envelope, size + size / 4 + 512};
  std::string failure;
  // All objects use the same memory, one after the other.
  alignas(std::max_align_t) std::array<char, kArenaBytes> arena;
  json::Allocator allocator{arena.data(), arena.size()};
  while (true) {
    allocator.Clear();
    json::Document object{&allocator, kParseStack};
    if (!reader.next(object)) break;
    View converted;
    if (const auto error = conversion::convertDgdr(object, envelope.desiredVersion, converted, allocator,
                                                   reader.copiedMembers()[kLastAppliedText].size())) {
      failure = fmt::format("object {}: {}", response.objects(), error->message);
      break;
    }
    response.add(converted, reader.copiedMembers());
  }
  if (!reader.error().empty()) return badRequest(reader.error(), kUnreadable);
  Reply reply;
  reply.body = failure.empty() ? response.finish() : response.fail(failure);
  reply.selfCheck = envelope.uid == kSelfCheckUid;
  if (observe && !reply.selfCheck) observe({envelope.uid, response.objects(), size, !failure.empty()});
  return reply;
}

}  // namespace dynamo::webhook

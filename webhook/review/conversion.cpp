#include "webhook/review/conversion.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "common/conversion/dgdr.h"
#include "common/field/finding.h"
#include "common/json/parse.h"
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

// Of the levels that an admission review may have one is added by the list of objects, one by the mapping:
// what was admitted is converted.
constexpr std::size_t kMaxReviewDepth = json::kMaxDepth + 8;

/// `logged`: the same without what it quotes of the body.
Reply badRequest(std::string_view message, std::string_view logged) {
  json::TextWriter writer;
  writeFailure(writer, 400, "BadRequest", message);
  return {400, "application/json", writer.take(), false, logged};
}

/// The answer as it grows: its head, then one object after the other.
class Answer {
 public:
  Answer(const ConversionEnvelope& envelope, std::size_t expected) : writer_(expected) {
    // conv-Q18: the answer has the request's apiVersion.
    writer_.raw(R"({"apiVersion":)");
    writer_.string(envelope.apiVersion);
    writer_.raw(R"(,"kind":"ConversionReview","response":{"uid":)");
    writer_.string(envelope.uid);
    writer_.raw(R"(,"convertedObjects":[)");
    objectsAt_ = writer_.size();
  }

  /// `passedOn` stands for the nulls that the reader has put in its place.
  void add(View object, const PassedOn& passedOn) {
    ++objects_;
    const auto plain = [this](View view) { write(view, writer_); };
    const auto textOr = [&](const std::string& text, View view) {
      text.empty() ? plain(view) : writer_.raw(text);
    };
    const auto annotation = [&](std::string_view name, View view) {
      name == kLastApplied ? textOr(passedOn[kLastAppliedText], view) : plain(view);
    };
    const auto metadata = [&](std::string_view name, View view) {
      if (name == "managedFields") return textOr(passedOn[kManagedFields], view);
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
    writer_.string(field::oneLine(message, kMostOfMessage));  // it names objects and keys of maps
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

Reply answerConversion(Request& request, const ObserveConversion& observe) {
  const std::size_t size = request.body.size();
  if (const auto error = json::guard(request.body, kMaxReviewDepth)) {
    return badRequest(fmt::format("byte {}: {}", error->offset, error->reason), kUnreadable);
  }
  ConversionEnvelope envelope;
  ConversionReader reader{request.body};
  if (!reader.readEnvelope(envelope)) return badRequest(reader.error(), kUnreadable);
  if (!envelope.apiVersion.starts_with(kGroupPrefix) || envelope.kind != kReviewKind) {
    return badRequest(fmt::format("want {}v1 {}, got {} {}", kGroupPrefix, kReviewKind,
                                  field::showValue(envelope.apiVersion), field::showValue(envelope.kind)),
                      "the body is no ConversionReview of apiextensions.k8s.io");
  }
  if (envelope.uid.empty()) return badRequest("request.uid: Required value", "the review has no uid");

  // A v1beta1 object has an eighth more text than the same one in v1alpha1; growing would copy a long answer.
  Answer answer{envelope, size + size / 4 + 512};
  std::string failure;
  // One object after the other in the same memory.
  alignas(std::max_align_t) std::array<char, kArena> arena;
  json::Allocator allocator{arena.data(), arena.size()};
  while (true) {
    allocator.Clear();
    json::Document object{&allocator, kParseStack};
    if (!reader.next(object)) break;
    View converted;
    if (const auto error = conversion::convertDgdr(object, envelope.desiredVersion, converted, allocator,
                                                   reader.passedOn()[kLastAppliedText].size())) {
      failure = fmt::format("object {}: {}", answer.objects(), error->message);
      break;
    }
    answer.add(converted, reader.passedOn());
  }
  if (!reader.error().empty()) return badRequest(reader.error(), kUnreadable);
  Reply reply;
  reply.body = failure.empty() ? answer.finish() : answer.fail(failure);
  reply.own = envelope.uid == kSelfCheckUid;
  if (observe && !reply.own) observe({envelope.uid, answer.objects(), size, !failure.empty()});
  return reply;
}

}  // namespace dynamo::webhook

#include "webhook/review/conversion.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "common/conversion/dgdr.h"
#include "common/json/parse.h"
#include "common/validation/finding.h"
#include "webhook/review/admission.h"
#include "webhook/review/envelope.h"
#include "webhook/review/status.h"

namespace dynamo::webhook {
namespace {

constexpr std::string_view kGroupPrefix = "apiextensions.k8s.io/";
constexpr std::string_view kReviewKind = "ConversionReview";
// On the thread's stack: holds the tree of a usual object and its conversion. What does not fit comes from
// the heap.
constexpr std::size_t kArena = std::size_t{128} * 1024;
constexpr std::size_t kParseStack = std::size_t{16} * 1024;

Reply badRequest(std::string_view message) {
  json::TextWriter writer;
  writeFailure(writer, 400, "BadRequest", message);
  return {400, "application/json", writer.take()};
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

  void add(const json::Value& object, const PassedOn& passedOn) {
    ++objects_;
    writer_.StartObject();
    for (const auto& member : object.GetObject()) {
      writer_.key(json::text(member.name));
      if (json::text(member.name) == "metadata" && member.value.IsObject()) {
        addMetadata(member.value, passedOn);
      } else {
        member.value.Accept(writer_);
      }
    }
    writer_.EndObject();
  }
  std::size_t objects() const { return objects_; }

  std::string finish() {
    writer_.raw(R"(],"result":{"status":"Success"}}})");
    return writer_.take();
  }
  std::string fail(std::string_view message) {
    writer_.truncate(objectsAt_);
    writer_.raw(R"(],"result":{"status":"Failure","message":)");
    writer_.string(message);
    writer_.raw(R"(,"code":422}}})");
    return writer_.take();
  }

 private:
  void addMetadata(const json::Value& metadata, const PassedOn& passedOn) {
    writer_.StartObject();
    for (const auto& member : metadata.GetObject()) {
      const std::string_view name = json::text(member.name);
      writer_.key(name);
      if (name == "managedFields" && !passedOn[kManagedFields].empty()) {
        writer_.raw(passedOn[kManagedFields]);
      } else if (name == "annotations" && !passedOn[kLastAppliedText].empty()) {
        addAnnotations(member.value, passedOn[kLastAppliedText]);
      } else {
        member.value.Accept(writer_);
      }
    }
    writer_.EndObject();
  }
  void addAnnotations(const json::Value& annotations, std::string_view lastApplied) {
    writer_.StartObject();
    for (const auto& member : annotations.GetObject()) {
      writer_.key(json::text(member.name));
      if (json::text(member.name) == kLastApplied) {
        writer_.raw(lastApplied);
      } else {
        member.value.Accept(writer_);
      }
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
  if (const auto error = json::guard(request.body)) {
    return badRequest(fmt::format("byte {}: {}", error->offset, error->reason));
  }
  ConversionEnvelope envelope;
  ConversionReader reader{request.body};
  if (!reader.readEnvelope(envelope)) return badRequest(reader.error());
  if (!envelope.apiVersion.starts_with(kGroupPrefix) || envelope.kind != kReviewKind) {
    return badRequest(fmt::format("want {}v1 {}, got {} {}", kGroupPrefix, kReviewKind,
                                  validation::showValue(envelope.apiVersion),
                                  validation::showValue(envelope.kind)));
  }
  if (envelope.uid.empty()) return badRequest("request.uid: Required value");

  Answer answer{envelope, size + size / 8 + 512};
  std::string failure;
  // One object after the other in the same memory.
  alignas(std::max_align_t) std::array<char, kArena> arena;
  json::Allocator allocator{arena.data(), arena.size()};
  while (true) {
    allocator.Clear();
    json::Document object{&allocator, kParseStack};
    if (!reader.next(object)) break;
    json::Value converted;
    if (const auto error = conversion::convertDgdr(object, envelope.desiredVersion, converted, allocator)) {
      failure = fmt::format("object {}: {}", answer.objects(), error->message);
      break;
    }
    answer.add(converted, reader.passedOn());
  }
  if (!reader.error().empty()) return badRequest(reader.error());
  Reply reply;
  reply.body = failure.empty() ? answer.finish() : answer.fail(failure);
  if (observe && envelope.uid != kSelfCheckUid)
    observe({answer.objects(), reply.body.size(), !failure.empty()});
  return reply;
}

}  // namespace dynamo::webhook

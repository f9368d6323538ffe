#include "webhook/review/conversion.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>

#include "common/conversion/dgdr.h"
#include "common/json/parse.h"
#include "common/validation/finding.h"
#include "webhook/review/envelope.h"
#include "webhook/review/status.h"

namespace dynamo::webhook {
namespace {

constexpr std::string_view kGroupPrefix = "apiextensions.k8s.io/";
constexpr std::string_view kReviewKind = "ConversionReview";
constexpr std::size_t kArena = 128 * 1024;  // holds the tree of a usual object and its conversion

Reply badRequest(std::string_view message) {
  rapidjson::StringBuffer buffer;
  Writer writer{buffer};
  writeFailure(writer, 400, "BadRequest", message);
  return {400, "application/json", {buffer.GetString(), buffer.GetSize()}};
}

std::string quoted(std::string_view text) {
  json::Document scratch;
  return json::dump(json::string(text, scratch.GetAllocator()));
}

/// A string that the converted objects are written into behind the review's head.
class Answer {
 public:
  using Ch = char;

  Answer(const ConversionEnvelope& envelope, std::size_t expected) {
    text_.reserve(expected);
    // conv-Q18: the answer has the request's apiVersion.
    text_ = fmt::format(R"({{"apiVersion":{},"kind":"ConversionReview","response":{{"uid":{},)",
                        quoted(envelope.apiVersion), quoted(envelope.uid));
    head_ = text_.size();
    text_ += R"("convertedObjects":[)";
  }

  // RapidJSON's output stream concept.
  void Put(char c) { text_ += c; }
  void Flush() {}

  void separate() {
    if (objects_++ != 0) text_ += ',';
  }
  std::size_t objects() const { return objects_; }

  std::string finish() {
    text_ += R"(],"result":{"status":"Success"}}})";
    return std::move(text_);
  }
  std::string fail(std::string_view message) {
    text_.resize(head_);
    text_ +=
        fmt::format(R"("convertedObjects":[],"result":{{"status":"Failure","message":{},"code":422}}}}}})",
                    quoted(message));
    return std::move(text_);
  }

 private:
  std::string text_;
  std::size_t head_ = 0;
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
  rapidjson::Writer<Answer> writer{answer};
  std::string failure;
  std::size_t count = 0;
  // One object after the other in the same memory.
  const auto arena = std::make_unique<char[]>(kArena);
  json::Allocator allocator{arena.get(), kArena};
  while (true) {
    allocator.Clear();
    json::Document object{&allocator};
    if (!reader.next(object)) break;
    json::Value converted;
    if (const auto error = conversion::convertDgdr(object, envelope.desiredVersion, converted, allocator)) {
      failure = fmt::format("object {}: {}", count, error->message);
      break;
    }
    ++count;
    answer.separate();
    writer.Reset(answer);
    converted.Accept(writer);
  }
  if (!reader.error().empty()) return badRequest(reader.error());
  Reply reply;
  reply.body = failure.empty() ? answer.finish() : answer.fail(failure);
  if (observe) observe({count, reply.body.size(), !failure.empty()});
  return reply;
}

}  // namespace dynamo::webhook

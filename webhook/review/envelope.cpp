#include "webhook/review/envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/field/finding.h"
#include "common/json/parse.h"
#include "common/json/take.h"
#include "common/k8s/object.h"

namespace dynamo::webhook {
namespace {

// RapidJSON's recursion is bounded, because json::guard() has checked the depth of the body.
constexpr unsigned kFlags = rapidjson::kParseFullPrecisionFlag | rapidjson::kParseStopWhenDoneFlag;

constexpr std::array<std::string_view, 2> kManagedFieldsPath{"metadata", "managedFields"};
constexpr std::array<std::string_view, 3> kLastAppliedPath{"metadata", "annotations", k8s::kLastApplied};
constexpr std::array<json::MemberPath, 2> kCopiedPaths{kManagedFieldsPath, kLastAppliedPath};

// Conversion limits the size of all annotations. For objects up to this size it counts the last-applied
// annotation with its escaped length, which leaves enough room. For larger objects the annotation is parsed
// and its actual length is counted.
constexpr std::size_t kSmallObjectBytes = std::size_t{64} * 1024;

// API servers accept objects of 3 MiB. A parsed object can need sixteen times the memory of its text, and no
// budget counts this memory.
constexpr std::size_t kMaxObjectBytes = std::size_t{8} << 20;

// Members of the review and of its request.
constexpr std::size_t kReservedNames = 4;  // the API server writes three of each
constexpr std::size_t kMaxNames = 32;

struct Ignore : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Ignore> {};

}  // namespace

ConversionReader::ConversionReader(std::string& body) {
  json::reserveReadAhead(body);
  begin_ = at_ = body.data();
  end_ = begin_ + body.size();
  for (auto& names : names_) names.reserve(kReservedNames);
}

void ConversionReader::skipSpace() {
  while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t') ++at_;
}

bool ConversionReader::fail(std::string_view reason) {
  if (error_.empty()) error_ = fmt::format("byte {}: {}", at_ - begin_, reason);
  return false;
}

bool ConversionReader::expect(char c) {
  skipSpace();
  if (*at_ != c) return fail(fmt::format("expected '{}'", c));
  ++at_;
  return true;
}

bool ConversionReader::skipValue() {
  skipSpace();
  rapidjson::StringStream stream{at_};
  rapidjson::Reader reader;
  Ignore ignore;
  const bool whole = !reader.Parse<kFlags>(stream, ignore).IsError();
  at_ += stream.Tell();
  return whole || fail("malformed value");
}

/// Reads a string member of the envelope. A value of another type is skipped and leaves `text` empty. The
/// view points into the body, or into `decoded_` if the string has escapes.
bool ConversionReader::readText(std::string_view& text) {
  skipSpace();
  if (*at_ != '"') return skipValue();
  const std::string_view rest{at_ + 1, static_cast<std::size_t>(end_ - at_ - 1)};
  const std::size_t length = rest.find('"');
  if (const std::string_view inside = rest.substr(0, length);
      length != std::string_view::npos && inside.find('\\') == std::string_view::npos) {
    text = inside;
    at_ += length + 2;
    return true;
  }
  rapidjson::StringStream stream{at_};
  json::Document value;
  value.ParseStream<kFlags>(stream);
  at_ += stream.Tell();
  if (value.HasParseError()) return fail("malformed string");
  text = decoded_.emplace_back(json::text(value));
  return true;
}

bool ConversionReader::readMember(Scope scope, std::string_view key, ConversionEnvelope& envelope,
                                  bool& stop) {
  if (scope == Scope::Review) {
    if (key == "apiVersion") return readText(envelope.apiVersion);
    if (key == "kind") return readText(envelope.kind);
    skipSpace();
    if (key != "request" || *at_ != '{') return skipValue();
    if (!readMembers(Scope::Request, envelope)) return false;
    stop = inList_;
    return true;
  }
  if (key == "uid") return readText(envelope.uid);
  if (key == "desiredAPIVersion") return readText(envelope.desiredVersion);
  skipSpace();
  if (key != "objects" || *at_ != '[') return skipValue();
  objects_ = at_ + 1;
  // The API server writes all needed members before the list. Reading stops here in this case, so the list is
  // not read twice.
  stop = !envelope.apiVersion.empty() && !envelope.kind.empty() && !envelope.uid.empty() &&
         !envelope.desiredVersion.empty();
  inList_ = stop;
  return stop || skipValue();
}

/// Reads `"name":` and rejects duplicates.
bool ConversionReader::readName(Scope scope, std::string_view& name) {
  skipSpace();
  const char* at = at_;
  if (*at_ != '"') return fail("expected a member name");
  if (!readText(name)) return false;
  std::vector<std::string_view>& seen = names_[scope == Scope::Review ? 0 : 1];
  if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
    at_ = begin_ + (at - begin_);
    return fail(fmt::format("duplicate name {}", field::showValue(name)));
  }
  if (seen.size() == kMaxNames) return fail("too many members");
  seen.push_back(name);
  return expect(':');
}

bool ConversionReader::readMembers(Scope scope, ConversionEnvelope& envelope) {
  if (!expect('{')) return false;
  skipSpace();
  if (*at_ == '}') {
    ++at_;
    return true;
  }
  while (true) {
    std::string_view key;
    if (!readName(scope, key)) return false;
    bool stop = false;
    if (!readMember(scope, key, envelope, stop)) return false;
    if (stop) return true;
    skipSpace();
    if (*at_ == ',') {
      ++at_;
      continue;
    }
    return expect('}');
  }
}

bool ConversionReader::readEnvelope(ConversionEnvelope& envelope) {
  if (!readMembers(Scope::Review, envelope)) return false;
  if (!inList_) {
    skipSpace();
    if (*at_ != '\0') return fail("text after the review");
    tailRead_ = true;
    if (objects_ == nullptr) return fail("request.objects: Required value");
  }
  at_ = objects_;
  return true;
}

/// Checks that the rest of the request and of the review, after the list, is well-formed.
bool ConversionReader::readTail() {
  if (tailRead_) return true;
  tailRead_ = true;
  for (int closing = 0; closing < 2; ++closing) {
    skipSpace();
    while (*at_ == ',') {
      ++at_;
      std::string_view key;
      if (!readName(closing == 0 ? Scope::Request : Scope::Review, key) || !skipValue()) return false;
      skipSpace();
    }
    if (!expect('}')) return false;
  }
  skipSpace();
  return *at_ == '\0' || fail("text after the review");
}

/// Parses the copied annotation and puts it back in place of the null.
bool ConversionReader::readLastApplied(json::Document& object) {
  std::string& taken = copiedMembers_[kLastAppliedText];
  if (taken.empty()) return true;
  json::Document text{&object.GetAllocator()};
  if (json::parse(taken, text)) return false;
  json::Value* at = &object;
  for (const std::string_view name : kLastAppliedPath) {
    at = json::findRaw(*at, name);
    if (at == nullptr) return false;
  }
  *at = std::move(static_cast<json::Value&>(text));
  taken.clear();
  return true;
}

bool ConversionReader::next(json::Document& object) {
  skipSpace();
  if (*at_ == ']' && first_) {
    ++at_;
    readTail();
    return false;
  }
  if (!first_) {
    if (*at_ == ']') {
      ++at_;
      readTail();
      return false;
    }
    if (!expect(',')) return false;
  }
  first_ = false;
  skipSpace();
  json::takeMembers({at_, end_}, kCopiedPaths, copiedMembers_);
  // Ends the text temporarily at the maximum size of an object, so that the parser stops there.
  char* const most = static_cast<std::size_t>(end_ - at_) > kMaxObjectBytes ? at_ + kMaxObjectBytes : nullptr;
  const char next = most == nullptr ? '\0' : std::exchange(*most, '\0');
  rapidjson::InsituStringStream stream{at_};
  object.ParseStream<kFlags | rapidjson::kParseInsituFlag>(stream);
  if (most != nullptr) *most = next;
  const std::size_t length = stream.Tell();
  if (object.HasParseError() && length == kMaxObjectBytes) return fail("the object has more than 8 MiB");
  at_ += length;
  if (object.HasParseError()) return fail(rapidjson::GetParseError_En(object.GetParseError()));
  if (const auto path = json::findDuplicateName(object)) return fail(fmt::format("duplicate name {}", *path));
  // After the search for duplicates, because readLastApplied looks up the annotation by its decoded path and
  // requires that it is unique.
  return length <= kSmallObjectBytes || readLastApplied(object) || fail("malformed annotation");
}

}  // namespace dynamo::webhook

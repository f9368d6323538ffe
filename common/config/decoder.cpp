#include "common/config/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/field/suggest.h"

namespace dynamo::config {
namespace {

constexpr const char* kDecodeRule = "config-type";
constexpr const char* kUnknownRule = "config-unknown-field";
constexpr std::string_view kUnknown = "unknown field, ignored";
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxSuggestedPaths = 3;
constexpr std::string_view kDurationText = "must be a duration string such as \"30s\" or \"1h30m\"";

/// The value as a message shows it. The content of objects and lists is left out, because it may be secret.
std::string shown(const json::Value& value) {
  if (value.IsObject()) return "(an object)";
  if (value.IsArray()) return "(a list)";
  return field::showValue(value);
}

std::string_view lastNameOf(const field::Path& path) {
  return path.view().back().name;
}

}  // namespace

field::Path ObjectDecoder::pathOf(std::string_view name) const {
  return path_ / name;
}

const json::Value* ObjectDecoder::take(std::string_view name) {
  known_.push_back(name);
  if (names_ != nullptr) names_->addKnown(pathOf(name));
  return json::findRaw(object_, name);
}

void ObjectDecoder::wrongType(field::Path path, const json::Value& value, std::string_view expected) {
  findings_.error(
      {field::ErrorType::TypeInvalid, std::move(path), shown(value), std::string{expected}, kDecodeRule});
}

void ObjectDecoder::read(std::string_view name, std::string& out) {
  const json::Value* value = take(name);
  if (value == nullptr || value->IsNull()) return;
  if (!value->IsString()) return wrongType(pathOf(name), *value, "must be a string");
  out = json::text(*value);
}

void ObjectDecoder::read(std::string_view name, bool& out) {
  std::optional<bool> value;
  read(name, value);
  out = value.value_or(out);
}

void ObjectDecoder::read(std::string_view name, std::optional<bool>& out) {
  const json::Value* value = take(name);
  if (value == nullptr || value->IsNull()) return;
  if (!value->IsBool()) return wrongType(pathOf(name), *value, "must be true or false");
  out = value->GetBool();
}

std::optional<std::int64_t> ObjectDecoder::integer(std::string_view name, std::int64_t lowest,
                                                   std::int64_t highest) {
  const json::Value* value = take(name);
  if (value == nullptr || value->IsNull()) return std::nullopt;
  if (!value->IsInt64() || value->GetInt64() < lowest || value->GetInt64() > highest) {
    wrongType(pathOf(name), *value,
              value->IsInt64() ? "is out of range for this field" : "must be an integer");
    return std::nullopt;
  }
  return value->GetInt64();
}

void ObjectDecoder::read(std::string_view name, std::int32_t& out) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (const auto value = integer(name, Limits::min(), Limits::max())) out = static_cast<std::int32_t>(*value);
}

void ObjectDecoder::read(std::string_view name, std::int64_t& out) {
  using Limits = std::numeric_limits<std::int64_t>;
  out = integer(name, Limits::min(), Limits::max()).value_or(out);
}

void ObjectDecoder::read(std::string_view name, k8s::Duration& out) {
  std::optional<k8s::Duration> value;
  read(name, value);
  out = value.value_or(out);
}

void ObjectDecoder::read(std::string_view name, std::optional<k8s::Duration>& out) {
  const json::Value* value = take(name);
  if (value == nullptr) return;
  const auto duration = value->IsString() ? k8s::parseDuration(json::text(*value)) : std::nullopt;
  if (!duration) return wrongType(pathOf(name), *value, kDurationText);
  out = duration;
}

void ObjectDecoder::read(std::string_view name, std::vector<std::string>& out) {
  const json::Value* value = take(name);
  if (value == nullptr || value->IsNull()) return;
  if (!value->IsArray()) return wrongType(pathOf(name), *value, "must be a list of strings");
  for (rapidjson::SizeType i = 0; i < value->Size(); ++i) {
    const json::Value& item = (*value)[i];
    if (item.IsString()) {
      out.emplace_back(json::text(item));
    } else {
      wrongType(pathOf(name)[i], item, "must be a string");
    }
  }
}

void ObjectDecoder::read(std::string_view name, std::optional<std::vector<std::string>>& out) {
  std::vector<std::string> list;
  read(name, list);
  if (json::find(object_, name) != nullptr) out = std::move(list);
}

void ObjectDecoder::read(std::string_view name, std::map<std::string, std::string>& out) {
  const json::Value* value = object(name);
  if (value == nullptr) return;
  for (const auto& member : value->GetObject()) {
    if (member.value.IsString()) {
      out.emplace(json::text(member.name), json::text(member.value));
    } else {
      wrongType(pathOf(name).key(json::text(member.name)), member.value, "must be a string");
    }
  }
}

const json::Value* ObjectDecoder::object(std::string_view name) {
  const json::Value* value = take(name);
  if (value == nullptr || value->IsNull()) return nullptr;
  if (value->IsObject()) return value;
  wrongType(pathOf(name), *value, "must be an object");
  return nullptr;
}

void ObjectDecoder::finish() {
  for (const auto& member : object_.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const field::Path path = pathOf(field::oneLine(name, kMaxNameBytes));
    const std::string_view closest = field::nearest(name, known_);
    if (!closest.empty()) {
      findings_.warn(path, fmt::format("{}; did you mean \"{}\"?", kUnknown, closest), kUnknownRule);
    } else if (names_ != nullptr) {
      names_->addUnknown(path, std::string{name});
    } else {
      findings_.warn(path, std::string{kUnknown}, kUnknownRule);
    }
  }
}

void KnownSettings::report(field::Findings& findings) const {
  std::vector<std::string_view> last;
  last.reserve(known_.size());
  for (const field::Path& path : known_) last.push_back(lastNameOf(path));
  for (const auto& [path, name] : unknown_) {
    const std::string_view meant = field::nearest(name, last);
    std::string suggestions;
    std::size_t count = 0;
    for (const field::Path& each : known_) {
      if (meant.empty() || lastNameOf(each) != meant || ++count > kMaxSuggestedPaths) continue;
      suggestions += fmt::format("{}\"{}\"", suggestions.empty() ? "" : " or ", each.text());
    }
    findings.warn(path,
                  suggestions.empty() ? std::string{kUnknown}
                                      : fmt::format("{}; did you mean {}?", kUnknown, suggestions),
                  kUnknownRule);
  }
}

}  // namespace dynamo::config

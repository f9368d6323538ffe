#include "common/field/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace dynamo::field {
namespace {

constexpr std::size_t kMaxShownValue = 64;

struct TypeWords {
  std::string_view reason;
  std::string_view words;
  bool showsValue;
};

TypeWords wordsOf(ErrorType type) {
  switch (type) {
    case ErrorType::Required:
      return {"FieldValueRequired", "Required value", false};
    case ErrorType::Invalid:
      return {"FieldValueInvalid", "Invalid value", true};
    case ErrorType::TypeInvalid:
      return {"FieldValueTypeInvalid", "Invalid value", true};
    case ErrorType::NotSupported:
      return {"FieldValueNotSupported", "Unsupported value", true};
    case ErrorType::Forbidden:
      return {"FieldValueForbidden", "Forbidden", false};
    case ErrorType::Duplicate:
      return {"FieldValueDuplicate", "Duplicate value", true};
    case ErrorType::NotFound:
      return {"FieldValueNotFound", "Not found", true};
    case ErrorType::TooLong:
      return {"FieldValueTooLong", "Too long", false};
    case ErrorType::TooMany:
      return {"FieldValueTooMany", "Too many", true};
  }
  return {"FieldValueInvalid", "Invalid value", true};
}

}  // namespace

std::string_view causeReason(ErrorType type) {
  return wordsOf(type).reason;
}

std::string FieldError::body() const {
  const TypeWords words = wordsOf(type);
  std::string text{words.words};
  if (words.showsValue && !badValue.empty()) text += ": " + badValue;
  if (!detail.empty()) text += ": " + detail;
  return text;
}

std::string FieldError::message() const {
  return oneLine(field + ": " + body());
}

std::string Warning::message() const {
  return oneLine(field.empty() ? text : field + ": " + text);
}

void Findings::add(Findings&& more) {
  std::move(more.errors.begin(), more.errors.end(), std::back_inserter(errors));
  std::move(more.warnings.begin(), more.warnings.end(), std::back_inserter(warnings));
}

void Findings::sort() {
  const auto errorKey = [](const FieldError& e) { return std::tie(e.field, e.type, e.badValue, e.detail); };
  std::stable_sort(errors.begin(), errors.end(),
                   [&](const auto& a, const auto& b) { return errorKey(a) < errorKey(b); });
  errors.erase(std::unique(errors.begin(), errors.end(),
                           [&](const auto& a, const auto& b) { return errorKey(a) == errorKey(b); }),
               errors.end());
  // Most important first is the order of the rules; only repetitions go.
  std::set<std::tuple<std::string_view, std::string_view>> seen;
  std::vector<Warning> once;
  for (const Warning& warning : warnings) {
    if (seen.emplace(warning.field, warning.text).second) once.push_back(warning);
  }
  warnings = std::move(once);
}

std::string oneLine(std::string_view s, std::size_t limit) {
  std::string out;
  out.reserve(std::min(s.size(), limit));
  for (std::size_t i = 0; i < s.size() && out.size() <= limit; ++i) {
    const auto byte = static_cast<unsigned char>(s[i]);
    const auto next = i + 1 < s.size() ? static_cast<unsigned char>(s[i + 1]) : 0U;
    if (byte == 0xC2 && next >= 0x80 && next <= 0x9F) {  // U+0080 to U+009F are controls for Go, too
      out += ' ';
      ++i;
    } else {
      out += byte < 0x20 || byte == 0x7F ? ' ' : s[i];
    }
  }
  if (out.size() <= limit) return out;
  std::size_t cut = limit < 3 ? 0 : limit - 3;
  while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0U) == 0x80U) --cut;
  out.resize(cut);
  return out + "...";
}

std::string cutAtWord(std::string_view line, std::size_t limit) {
  constexpr std::string_view kMark = "...";
  if (line.size() <= limit || limit <= kMark.size()) return oneLine(line, limit);
  const std::size_t room = limit - kMark.size();
  const std::size_t blank = line.rfind(' ', room);
  const std::size_t end = blank == std::string_view::npos ? 0 : line.find_last_not_of(' ', blank) + 1;
  if (end == 0 || end == std::string_view::npos + 1) return oneLine(line, limit);
  return std::string{line.substr(0, end)}.append(kMark);
}

std::string showValue(std::string_view text) {
  json::Document scratch;
  return json::dump(json::string(oneLine(text, kMaxShownValue), scratch.GetAllocator()));
}

std::string showValue(const json::Value& value) {
  if (value.IsString()) return showValue(json::text(value));
  return oneLine(json::dump(value), kMaxShownValue);
}

namespace {

const json::Value* itemAt(const json::Value& list, std::string_view index) {
  std::size_t i = 0;
  const auto parsed = std::from_chars(index.data(), index.data() + index.size(), i);
  const bool valid = parsed.ec == std::errc{} && parsed.ptr == index.data() + index.size();
  return valid && i < list.Size() ? &list[static_cast<rapidjson::SizeType>(i)] : nullptr;
}

/// What "[token]" at the front of `path` names below `at`; `path` goes on behind it. A key of a map may hold
/// any character, "]" and "." too: the longest key that fits is meant.
const json::Value* takeBracketed(const json::Value& at, std::string_view& path) {
  if (!at.IsObject()) {
    const std::size_t close = path.find(']');
    if (close == std::string_view::npos) return nullptr;
    const std::string_view token = path.substr(1, close - 1);
    path.remove_prefix(close + 1);
    return at.IsArray() ? itemAt(at, token) : nullptr;
  }
  const json::Value* found = nullptr;
  std::size_t length = 0;
  for (const auto& member : at.GetObject()) {
    const std::string_view key = json::text(member.name);
    const std::size_t end = key.size() + 2;
    if (end < length || path.size() < end || path[end - 1] != ']' || path.substr(1, key.size()) != key) {
      continue;
    }
    if (path.size() > end && path[end] != '.' && path[end] != '[') continue;
    found = &member.value;
    length = end;
  }
  path.remove_prefix(length);
  return found;
}

/// What the first step of `path` names below `at`: "[0]", "[key]", ".field" or "field".
const json::Value* takeStep(const json::Value& at, std::string_view& path) {
  if (path.front() == '[') return takeBracketed(at, path);
  if (path.front() == '.') path.remove_prefix(1);
  const std::size_t length = std::min(path.find_first_of(".["), path.size());
  const std::string_view token = path.substr(0, length);
  path.remove_prefix(length);
  return at.IsArray() ? itemAt(at, token) : json::findRaw(at, token);
}

}  // namespace

const json::Value* valueAt(const json::Value& object, std::string_view path) {
  const json::Value* at = &object;
  while (at != nullptr && !path.empty()) at = takeStep(*at, path);
  return at;
}

namespace {

bool isObject(const json::Value* value) {
  return value != nullptr && value->IsObject();
}

/// By what an item of a list that has changed is known again; the empty text says nothing.
std::string nameOf(const json::Value& item) {
  return std::string{json::findText(&item, "name")};
}

/// Finds in the old object what a path of the new one names: items of lists may have moved.
class OldPlaces {
 public:
  OldPlaces(const json::Value& object, const json::Value& old) : object_(object), old_(old) {}

  /// The path in the old object; empty when it had no such item.
  std::string operator()(std::string_view path) {
    std::string place;
    const json::Value* now = &object_;
    const json::Value* was = &old_;
    while (isObject(now) || (now != nullptr && now->IsArray())) {
      if (path.empty()) break;
      const std::string_view rest = path;
      const json::Value* list = now->IsArray() ? now : nullptr;
      now = takeStep(*now, path);
      const std::string_view step = rest.substr(0, rest.size() - path.size());
      if (list != nullptr && now != nullptr && was != nullptr && was->IsArray()) {
        const std::optional<std::size_t> index =
            indexes(*list, *was)[static_cast<std::size_t>(now - list->Begin())];
        if (!index) return {};
        place += fmt::format("[{}]", *index);
        was = &(*was)[static_cast<rapidjson::SizeType>(*index)];
      } else {
        place += step;
        if (was != nullptr) was = valueAt(*was, step);
      }
    }
    return place.append(path);
  }

 private:
  using Indexes = std::vector<std::optional<std::size_t>>;

  /// For each item of the new list where it stood in the old one: as it is, else of the same name (mounts of
  /// one volume share it), the n-th for the n-th. One of a new name took the place of an item that is gone.
  const Indexes& indexes(const json::Value& list, const json::Value& was) {
    const auto [known, isNew] = known_.try_emplace(&list);
    Indexes& result = known->second;
    if (!isNew) return result;
    result.resize(list.Size());
    std::vector<bool> taken(was.Size());
    pair(list, was, json::dump, result, taken);
    pair(list, was, nameOf, result, taken);
    for (std::size_t i = 0; i < std::min(result.size(), taken.size()); ++i) {
      if (!result[i] && !taken[i]) result[i] = i;
    }
    return result;
  }

  /// Pairs items that have no partner yet by their labels.
  template <typename Label>
  static void pair(const json::Value& list, const json::Value& was, const Label& label, Indexes& result,
                   std::vector<bool>& taken) {
    std::map<std::string, std::deque<std::size_t>, std::less<>> places;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (!taken[i]) places[label(was[index(i)])].push_back(i);
    }
    places.erase(std::string{});
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (result[i]) continue;
      const auto found = places.find(label(list[index(i)]));
      if (found == places.end() || found->second.empty()) continue;
      result[i] = found->second.front();
      found->second.pop_front();
      taken[*result[i]] = true;
    }
  }

  static rapidjson::SizeType index(std::size_t i) { return static_cast<rapidjson::SizeType>(i); }

  const json::Value& object_;
  const json::Value& old_;
  std::map<const json::Value*, Indexes> known_;
};

bool isAbsent(const json::Value* value) {
  return value == nullptr || value->IsNull();
}

/// Whether the update left alone what `error` is about, an error that the old object has at the same place.
/// At an object it is about some members only: the bad value names them, or else the words. The same holds
/// where there is nothing yet, and of what is told at no field of the object.
bool sameDefect(const FieldError& error, const std::set<std::string_view>& details, const json::Value* value,
                const json::Value* was) {
  const bool members = (isAbsent(value) || value->IsObject()) && (isAbsent(was) || was->IsObject());
  if (members && (!error.badValue.empty() || details.contains(error.detail))) return true;
  if (isAbsent(value) && isAbsent(was)) return error.type == ErrorType::Required;
  return json::equal(value, was);
}

}  // namespace

Findings ratchet(Findings now, const Findings& before, const json::Value& object, const json::Value& old) {
  using Key = std::tuple<std::string_view, std::string_view, ErrorType, std::string_view>;
  std::map<Key, std::set<std::string_view>> known;  // the details
  for (const FieldError& e : before.errors) known[{e.rule, e.field, e.type, e.badValue}].insert(e.detail);
  OldPlaces placeInOld{object, old};
  const auto untouched = [&](const FieldError& error) {
    if (known.empty()) return false;
    const std::string place = placeInOld(error.field);
    const auto found = known.find({error.rule, place, error.type, error.badValue});
    return found != known.end() &&
           sameDefect(error, found->second, valueAt(object, error.field), valueAt(old, place));
  };
  std::vector<FieldError> kept;
  for (FieldError& error : now.errors) {
    if (untouched(error)) {
      now.warn(error.field, error.body(), error.rule);
    } else {
      kept.push_back(std::move(error));
    }
  }
  now.errors = std::move(kept);
  return now;
}

}  // namespace dynamo::field

#include "common/json/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/json/utf8.h"

namespace dynamo::json {
namespace {

// Full precision, so that doubles survive a round trip. Recursive parsing is faster than iterative parsing,
// and safe because guard() bounds the depth.
constexpr unsigned kFlags = rapidjson::kParseFullPrecisionFlag;

void locate(std::string_view text, ParseError& error) {
  const std::string_view before = text.substr(0, std::min(error.offset, text.size()));
  error.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  error.column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
}

/// Less than zero when `a` comes before `b`. Most names differ in their first byte, so that is compared
/// first.
int compareNames(std::string_view a, std::string_view b) {
  if (!a.empty() && !b.empty() && a.front() != b.front()) {
    return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front()) ? -1 : 1;
  }
  return a.compare(b);
}

/// A name that two members of `object` have, if there is one.
const Value* duplicateIn(const Value& object) {
  bool ascending = true;  // the API server sorts names, so one pass is usually enough
  std::string_view before;
  for (auto m = object.MemberBegin(); m != object.MemberEnd(); ++m) {
    const std::string_view name = text(m->name);
    const int order = m == object.MemberBegin() ? -1 : compareNames(before, name);
    if (order == 0) return &m->name;
    if (order > 0) ascending = false;
    before = name;
  }
  if (ascending) return nullptr;
  std::vector<const Value*> names;
  names.reserve(object.MemberCount());
  for (const auto& member : object.GetObject()) names.push_back(&member.name);
  std::sort(names.begin(), names.end(), [](auto* a, auto* b) { return text(*a) < text(*b); });
  const auto duplicate =
      std::adjacent_find(names.begin(), names.end(), [](auto* a, auto* b) { return text(*a) == text(*b); });
  return duplicate == names.end() ? nullptr : *duplicate;
}

bool isContainer(const Value& value) {
  return value.IsObject() || value.IsArray();
}

/// An object with a duplicate name or too many members.
struct Fault {
  const Value* duplicate = nullptr;  ///< the duplicate name; nullptr when it has too many members
  std::vector<std::string> steps;    ///< the path to it, last step first
};

/// Finds the first fault. The path is only collected when a fault was found, because most texts have none.
bool findFault(const Value& value, std::size_t maxMembers, Fault& fault) {
  if (value.IsObject()) {
    if (value.MemberCount() > maxMembers) return true;
    fault.duplicate = duplicateIn(value);
    if (fault.duplicate != nullptr) return true;
    for (const auto& member : value.GetObject()) {
      if (!isContainer(member.value) || !findFault(member.value, maxMembers, fault)) continue;
      fault.steps.push_back(excerpt(text(member.name)));
      return true;
    }
  } else if (value.IsArray()) {
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
      if (!isContainer(value[i]) || !findFault(value[i], maxMembers, fault)) continue;
      fault.steps.push_back(fmt::format("[{}]", i));
      return true;
    }
  }
  return false;
}

std::string pathOf(const Fault& fault) {
  std::string path;
  const auto add = [&path](std::string_view step) {
    if (!path.empty() && !step.starts_with('[')) path += '.';
    path += step;
  };
  std::for_each(fault.steps.rbegin(), fault.steps.rend(), add);
  if (fault.duplicate != nullptr) add(fmt::format("\"{}\"", excerpt(text(*fault.duplicate))));
  return path;
}

std::optional<ParseError> afterParse(std::string_view text, const Document& document,
                                     std::size_t maxMembers) {
  ParseError error;
  if (document.HasParseError()) {
    error.reason = rapidjson::GetParseError_En(document.GetParseError());
    error.offset = document.GetErrorOffset();
    locate(text, error);
    return error;
  }
  Fault fault;
  if (!findFault(document, maxMembers, fault)) return std::nullopt;
  const std::string path = pathOf(fault);
  error.reason = fault.duplicate != nullptr ? fmt::format("duplicate name {}", path)
                                            : fmt::format("{}{}Too many: must have at most {} members", path,
                                                          path.empty() ? "" : ": ", maxMembers);
  return error;
}

}  // namespace

std::string ParseError::message() const {
  return fmt::format("line {}, column {}: {}", line, column, reason);
}

std::optional<std::string> findDuplicateName(const Value& value) {
  Fault fault;
  if (!findFault(value, SIZE_MAX, fault)) return std::nullopt;
  return pathOf(fault);
}

std::optional<ParseError> parse(std::string_view text, Document& document) {
  if (auto error = guard(text)) {
    locate(text, *error);
    return error;
  }
  document.Parse<kFlags>(text.data() == nullptr ? "" : text.data(), text.size());
  return afterParse(text, document, SIZE_MAX);
}

void reserveReadAhead(std::string& text) {
  if (text.capacity() - text.size() < kReadAhead) text.reserve(text.size() + kReadAhead);
}

std::optional<ParseError> parseInsitu(std::string& text, Document& document, std::size_t maxMembers) {
  if (auto error = guard(text)) {
    locate(text, *error);
    return error;
  }
  // Parsing overwrites the text in which an error would be located. A review is one line, so its offset is
  // the column. Only a text of several lines is copied.
  const std::string lines = text.find('\n') == std::string::npos ? std::string{} : text;
  reserveReadAhead(text);
  document.ParseInsitu<kFlags>(text.data());
  auto error = afterParse(lines, document, maxMembers);
  if (error && lines.empty()) error->column = error->offset + 1;
  return error;
}

}  // namespace dynamo::json

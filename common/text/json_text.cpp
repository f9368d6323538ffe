#include "common/text/json_text.h"

#include <algorithm>
#include <utility>

namespace dynamo::text {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::size_t skipSpace(std::string_view text, std::size_t from) {
  return std::min(text.find_first_not_of(kSpace, from), text.size());
}

bool startsLikeJson(std::string_view text) {
  const std::size_t open = skipSpace(text, 0);
  if (open == text.size() || (text[open] != '{' && text[open] != '[')) return false;
  const std::size_t next = skipSpace(text, open + 1);
  if (next == text.size()) return true;
  return text[open] == '{' ? text[next] == '"' || text[next] == '}' : text[next] == '{' || text[next] == ']';
}

/// The end of the value at `begin`. A value without brackets extends to the end of the next brackets or of
/// the text; the parser then rejects it if it contains more than one value.
std::size_t endOfValue(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

/// Computes the positions of increasing offsets in one pass over the text.
class LineCounter {
 public:
  explicit LineCounter(std::string_view text) : text_(text) {}

  Position at(std::size_t offset) {
    for (; seen_ < offset; ++seen_) {
      if (text_[seen_] != '\n') continue;
      ++line_;
      lineStart_ = seen_ + 1;
    }
    return {line_, static_cast<std::uint32_t>(offset - lineStart_ + 1)};
  }

 private:
  std::string_view text_;
  std::size_t seen_ = 0;
  std::size_t lineStart_ = 0;
  std::uint32_t line_ = 1;
};

/// Walks the text of a parsed and therefore well-formed value, and records the positions of its parts.
class PositionScanner {
 public:
  PositionScanner(std::string_view text, std::size_t begin, LineCounter& lines)
      : text_(text), at_(begin), lines_(lines) {}

  /// `value` is the parsed value at the current position. Its depth is at most json::kMaxDepth.
  void scan(const json::Value& value, Positions& positions, Positions::Id place) {
    at_ = skipSpace(text_, at_);
    if (value.IsObject() || value.IsArray()) {
      ++at_;
      Positions::Id previous = Positions::kNone;
      const auto item = [&](const json::Value& child, std::optional<std::string_view> name) {
        at_ = skipSpace(text_, at_);
        previous = positions.add(place, previous, name, lines_.at(at_));
        if (name) {
          skipScalar();
          at_ = skipSpace(text_, at_) + 1;  // the colon
        }
        scan(child, positions, previous);
        at_ = skipSpace(text_, at_);
        if (text_[at_] == ',') ++at_;
      };
      if (value.IsObject()) {
        for (const auto& member : value.GetObject()) item(member.value, json::text(member.name));
      } else {
        for (const json::Value& child : value.GetArray()) item(child, std::nullopt);
      }
      at_ = skipSpace(text_, at_) + 1;
    } else {
      skipScalar();
    }
  }

 private:
  void skipScalar() {
    if (text_[at_] != '"') {
      at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
      return;
    }
    for (++at_; text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    ++at_;
  }

  std::string_view text_;
  std::size_t at_;
  LineCounter& lines_;
};

}  // namespace

std::optional<TextDocuments> parseJsonText(std::string_view text) {
  if (!startsLikeJson(text)) return std::nullopt;
  TextDocuments result;
  LineCounter lines{text};
  std::size_t begin = skipSpace(text, 0);
  while (begin < text.size()) {
    const std::size_t end = endOfValue(text, begin);
    TextDocument document;
    if (auto error = json::parse(text.substr(begin, end - begin), document.value)) {
      // json::parse() counts from the start of the value.
      const Position start = lines.at(begin);
      if (error->line == 1) error->column += start.column - 1;
      error->line += start.line - 1;
      error->offset += begin;
      result.error = std::move(error);
      return result;
    }
    document.start = lines.at(begin);
    document.positions = Positions{document.start};
    PositionScanner{text, begin, lines}.scan(document.value, document.positions, 0);
    if (result.documents.size() == kMaxDocuments) {
      result.error =
          json::ParseError{"too many documents", begin, document.start.line, document.start.column};
      return result;
    }
    if (!document.value.IsNull()) result.documents.push_back(std::move(document));
    begin = skipSpace(text, end);
    if (text.substr(begin, 3) == "---") begin = skipSpace(text, begin + 3);
  }
  return result;
}

}  // namespace dynamo::text

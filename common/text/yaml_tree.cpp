#include "common/text/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <streambuf>
#include <string>
#include <string_view>

#include "common/json/utf8.h"

namespace dynamo::text {
namespace {

/// Enough for 16 MiB of real manifests; bounds the memory of hostile ones.
constexpr std::size_t kMaxNodes = 1'000'000;

/// What the handler throws through the parser; never leaves this file.
struct Refused {
  json::ParseError error;
};

Position positionOfMark(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::uint32_t>(mark.line) + 1, static_cast<std::uint32_t>(mark.column) + 1};
}

/// Collects the events of one document. Events are used instead of YAML::Node because that one loses where
/// aliases were and cannot be stopped at a depth.
class TreeBuilder : public YAML::EventHandler {
 public:
  YamlTree tree;
  YAML::Mark start;  ///< where the document begins

  void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(YamlNode::Kind::Null, mark, {}, anchor, {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) refuse(mark, "unknown anchor");
    if (!tree.nodes[target->second].closed) refuse(mark, "an anchor contains itself");
    attach(target->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add(YamlNode::Kind::Scalar, mark, tag, anchor, repaired(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::Sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::Map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  /// The text is UTF-8, but yaml-cpp makes one byte each of the escapes \N (U+0085) and \_ (U+00A0).
  static std::string repaired(const std::string& value) {
    std::string text;
    for (std::string_view rest{value}; !rest.empty();) {
      const std::size_t length = json::utf8Length(rest);
      if (length == 0) text += '\xC2';
      text += rest.substr(0, std::max<std::size_t>(length, 1));
      rest.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return text;
  }

  [[noreturn]] static void refuse(const YAML::Mark& mark, const char* reason) {
    throw Refused{errorAt(positionOfMark(mark), reason)};
  }

  void attach(NodeId id) {
    if (!open_.empty()) tree.nodes[open_.back()].children.push_back(id);
  }

  NodeId add(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
             const std::string& text) {
    if (tree.nodes.size() == kMaxNodes) refuse(mark, "too many values in one document");
    const auto id = static_cast<NodeId>(tree.nodes.size());
    const bool leaf = kind == YamlNode::Kind::Null || kind == YamlNode::Kind::Scalar;
    tree.nodes.push_back({kind, leaf, positionOfMark(mark), tag, text, {}});
    if (anchor != YAML::NullAnchor) anchors_[anchor] = id;
    attach(id);
    return id;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (open_.size() == json::kMaxDepth) refuse(mark, "nested too deeply");
    open_.push_back(add(kind, mark, tag, anchor, {}));
  }

  void close() {
    tree.nodes[open_.back()].closed = true;
    open_.pop_back();
  }

  std::vector<NodeId> open_;
  std::map<YAML::anchor_t, NodeId> anchors_;
};

/// Reads a string_view without copying it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // the interface wants it; never written to
    setg(begin, begin, begin + text.size());
  }
};

/// yaml-cpp's words for the commonest mistakes, and ours.
struct Wording {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array<Wording, 8> kWordings = {
    {{"illegal map value", "a value with \": \" in it must be quoted, or the indentation is wrong"},
     {"illegal map key", "a name cannot stand here: check the indentation"},
     {"illegal block entry", "a list item (\"- \") cannot stand here: check the indentation"},
     {"end of map not found", "the indentation fits no map above"},
     {"end of sequence not found", "the indentation fits no list above"},
     {"end of map flow not found", "\"{\" is not closed, or a comma is missing"},
     {"end of sequence flow not found", "\"[\" is not closed, or a comma is missing"},
     {"illegal EOF in scalar", "a quoted text is not closed"}}};

/// Where a tab stands in the indentation of the line of an error or of one beside it: that is what it comes
/// of, whatever the parser makes of it. nullopt when there is none.
std::optional<Position> tabInIndentation(std::string_view text, std::uint32_t errorLine) {
  std::optional<Position> found;
  std::uint32_t line = 1;
  for (std::size_t start = 0; start < text.size() && line <= errorLine + 1; ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view content = text.substr(start, end - start);
    const std::size_t first = std::min(content.find_first_not_of(" \t\r"), content.size());
    const std::size_t tab = content.substr(0, first).find('\t');
    const bool beside = line + 1 >= errorLine;
    if (beside && tab != std::string_view::npos && first < content.size() && content[first] != '#') {
      found = Position{line, static_cast<std::uint32_t>(tab + 1)};
      if (line >= errorLine) break;
    }
    start = end + 1;
  }
  return found;
}

/// What yaml-cpp says, on one line: it quotes the character that it stumbles on, and the text's end as a
/// control character.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; },
      ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == ':')) text.pop_back();
  const auto* known =
      std::find_if(kWordings.begin(), kWordings.end(), [&](const Wording& w) { return w.theirs == text; });
  return known == kWordings.end() ? text : std::string{known->ours};
}

}  // namespace

json::ParseError errorAt(Position at, std::string reason) {
  return {std::move(reason), 0, at.line == 0 ? 1 : at.line, at.column == 0 ? 1 : at.column};
}

std::optional<json::ParseError> readYaml(
    std::string_view text, const std::function<std::optional<json::ParseError>(YamlTree&)>& take) {
  try {
    ViewBuffer buffer{text};
    std::istream stream{&buffer};
    YAML::Parser parser{stream};
    int last = -1;
    for (bool more = true; more;) {
      TreeBuilder builder;
      more = parser.HandleNextDocument(builder);
      // yaml-cpp does not get past a stray "," between documents: it would hand out empty ones for ever.
      if (more && builder.start.pos <= last)
        return errorAt(positionOfMark(builder.start), "unexpected character");
      if (more) last = builder.start.pos;
      if (builder.tree.nodes.empty()) continue;
      if (auto error = take(builder.tree)) return error;
    }
  } catch (const Refused& refused) {
    return refused.error;
  } catch (const YAML::Exception& error) {
    const Position at = positionOfMark(error.mark);
    if (const auto tab = tabInIndentation(text, at.line)) {
      return errorAt(*tab, "a tab in the indentation: YAML is indented with spaces");
    }
    return errorAt(at, printable(error.msg));
  } catch (const std::exception& error) {
    return errorAt({}, printable(error.what()));
  }
  return std::nullopt;
}

}  // namespace dynamo::text

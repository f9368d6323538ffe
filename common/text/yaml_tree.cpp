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

/// Enough for 16 MiB of real manifests. Limits the memory for malicious ones.
constexpr std::size_t kMaxNodes = 1'000'000;

/// Thrown by the handler through the parser, and caught in this file.
struct ParseFailure {
  json::ParseError error;
};

Position positionOfMark(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::uint32_t>(mark.line) + 1, static_cast<std::uint32_t>(mark.column) + 1};
}

/// Builds the tree of a document from parser events. YAML::Node is not used, because it loses aliases and
/// cannot limit the depth.
class TreeBuilder : public YAML::EventHandler {
 public:
  YamlTree tree;
  YAML::Mark start;  ///< start of the document

  void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(YamlNode::Kind::Null, mark, {}, anchor, {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) fail(mark, "unknown anchor");
    if (!tree.nodes[target->second].closed) fail(mark, "an anchor contains itself");
    attach(target->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add(YamlNode::Kind::Scalar, mark, tag, anchor, repairUtf8(value));
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
  /// Repairs a yaml-cpp bug: the escapes \N (U+0085) and \_ (U+00A0) become one byte, which is invalid UTF-8.
  static std::string repairUtf8(const std::string& value) {
    std::string text;
    for (std::string_view rest{value}; !rest.empty();) {
      const std::size_t length = json::utf8Length(rest);
      if (length == 0) text += '\xC2';
      text += rest.substr(0, std::max<std::size_t>(length, 1));
      rest.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return text;
  }

  [[noreturn]] static void fail(const YAML::Mark& mark, const char* reason) {
    throw ParseFailure{errorAt(positionOfMark(mark), reason)};
  }

  void attach(NodeId id) {
    if (!open_.empty()) tree.nodes[open_.back()].children.push_back(id);
  }

  NodeId add(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
             const std::string& text) {
    if (tree.nodes.size() == kMaxNodes) fail(mark, "too many values in one document");
    const auto id = static_cast<NodeId>(tree.nodes.size());
    const bool leaf = kind == YamlNode::Kind::Null || kind == YamlNode::Kind::Scalar;
    tree.nodes.push_back({kind, leaf, positionOfMark(mark), tag, text, {}});
    if (anchor != YAML::NullAnchor) anchors_[anchor] = id;
    attach(id);
    return id;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (open_.size() == json::kMaxDepth) fail(mark, "nested too deeply");
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
    char* begin = const_cast<char*>(text.data());  // required by the interface; the buffer is never written
    setg(begin, begin, begin + text.size());
  }
};

/// Clearer messages for the most common errors of yaml-cpp.
struct KnownMessage {
  std::string_view original;
  std::string_view replacement;
};
constexpr std::array<KnownMessage, 8> kKnownMessages = {
    {{"illegal map value", "a value with \": \" in it must be quoted, or the indentation is wrong"},
     {"illegal map key", "a key is not allowed here; check the indentation"},
     {"illegal block entry", "a list item (\"- \") is not allowed here; check the indentation"},
     {"end of map not found", "the indentation matches no map above"},
     {"end of sequence not found", "the indentation matches no list above"},
     {"end of map flow not found", "\"{\" is not closed, or a comma is missing"},
     {"end of sequence flow not found", "\"[\" is not closed, or a comma is missing"},
     {"illegal EOF in scalar", "a quoted text is not closed"}}};

/// The position of a tab in the indentation of the error's line or a neighbouring line; nullopt if there is
/// none. Such a tab is the cause of the error, even if the parser reports another one.
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

/// The message of yaml-cpp in one line. It may quote control characters, because yaml-cpp represents the end
/// of the text as one.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; },
      ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == ':')) text.pop_back();
  const auto* known = std::find_if(kKnownMessages.begin(), kKnownMessages.end(),
                                   [&](const KnownMessage& w) { return w.original == text; });
  return known == kKnownMessages.end() ? text : std::string{known->replacement};
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
      // yaml-cpp cannot skip a stray "," between documents and would return empty documents forever.
      if (more && builder.start.pos <= last)
        return errorAt(positionOfMark(builder.start), "unexpected character");
      if (more) last = builder.start.pos;
      if (builder.tree.nodes.empty()) continue;
      if (auto error = take(builder.tree)) return error;
    }
  } catch (const ParseFailure& failure) {
    return failure.error;
  } catch (const YAML::Exception& error) {
    const Position at = positionOfMark(error.mark);
    if (const auto tab = tabInIndentation(text, at.line)) {
      return errorAt(*tab, "tab in the indentation; YAML requires spaces");
    }
    return errorAt(at, printable(error.msg));
  } catch (const std::exception& error) {
    return errorAt({}, printable(error.what()));
  }
  return std::nullopt;
}

}  // namespace dynamo::text

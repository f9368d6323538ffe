#include "common/text/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "common/json/utf8.h"
#include "common/text/json_text.h"
#include "common/text/yaml_scalar.h"
#include "common/text/yaml_tree.h"

namespace dynamo::text {
namespace {

using Error = std::optional<json::ParseError>;

/// One member of a map after merging.
struct Member {
  std::string name;
  NodeId value;
  Position at;
};

class Converter {
 public:
  Converter(const YamlTree& tree, TextDocument& out, Expansion& left)
      : tree_(tree), out_(out), allocator_(out.value.GetAllocator()), left_(left) {
    for (const YamlNode& node : tree.nodes) written_.bytes += node.text.size();
  }

  Error run() {
    out_.start = tree_.nodes[tree_.root].at;
    out_.positions = Positions{out_.start};
    auto error = convert(tree_.root, 0, 0, out_.value);
    left_.values -= std::min(left_.values, beyond(values_, written_.values));
    left_.bytes -= std::min(left_.bytes, beyond(bytes_, written_.bytes));
    return error;
  }

 private:
  struct Members {
    std::vector<Member> list;
    std::unordered_map<std::string, std::size_t> index;
  };

  Error convert(NodeId id, Positions::Id place, std::size_t depth, json::Value& out) {
    const YamlNode& node = tree_.nodes[id];
    if (auto error = checkLimits(node, depth)) return error;
    switch (node.kind) {
      case YamlNode::Kind::Null:
        out.SetNull();
        return std::nullopt;
      case YamlNode::Kind::Scalar:
        return convertScalar(node, out);
      case YamlNode::Kind::Sequence:
        return convertSequence(node, place, depth, out);
      case YamlNode::Kind::Map:
        return convertMap(node, place, depth, out);
    }
    return std::nullopt;
  }

  Error checkLimits(const YamlNode& node, std::size_t depth) {
    if (depth > json::kMaxDepth) return errorAt(node.at, "nested too deeply");
    bytes_ += node.text.size();
    ++values_;
    if (beyond(values_, written_.values) > left_.values || beyond(bytes_, written_.bytes) > left_.bytes) {
      return errorAt(node.at, "aliases expand the document beyond the limit");
    }
    return std::nullopt;
  }

  static std::size_t beyond(std::size_t count, std::size_t written) {
    return count > written ? count - written : 0;
  }

  Error convertScalar(const YamlNode& node, json::Value& out) {
    const auto resolved = resolveScalar(node.text, node.tag);
    if (const auto* error = std::get_if<ScalarError>(&resolved)) return errorAt(node.at, error->reason);
    out = toJson(std::get<ScalarValue>(resolved), allocator_);
    return std::nullopt;
  }

  Error convertSequence(const YamlNode& node, Positions::Id place, std::size_t depth, json::Value& out) {
    out.SetArray().Reserve(static_cast<rapidjson::SizeType>(node.children.size()), allocator_);
    Positions::Id previous = Positions::kNone;
    for (const NodeId item : node.children) {
      previous = out_.positions.add(place, previous, std::nullopt, tree_.nodes[item].at);
      json::Value value;
      if (auto error = convert(item, previous, depth + 1, value)) return error;
      out.PushBack(value, allocator_);
    }
    return std::nullopt;
  }

  Error convertMap(const YamlNode& node, Positions::Id place, std::size_t depth, json::Value& out) {
    Members members;
    if (auto error = collect(node, depth, members)) return error;
    out.SetObject();
    Positions::Id previous = Positions::kNone;
    for (const Member& member : members.list) {
      previous = out_.positions.add(place, previous, member.name, member.at);
      json::Value value;
      if (auto error = convert(member.value, previous, depth + 1, value)) return error;
      out.AddMember(json::string(member.name, allocator_), value, allocator_);
    }
    return std::nullopt;
  }

  /// Collects the members of a map in their order and resolves merge keys. Later members replace earlier
  /// ones.
  Error collect(const YamlNode& map, std::size_t depth, Members& members) {
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      const YamlNode& key = tree_.nodes[map.children[i]];
      if (isMerge(key)) {
        if (auto error = merge(map.children[i + 1], depth + 1, members)) return error;
        continue;
      }
      std::string name;
      if (auto error = nameOf(key, name)) return error;
      if (!names.insert(name).second) {
        return errorAt(key.at, fmt::format("duplicate name \"{}\"", json::excerpt(name)));
      }
      const auto [known, added] = members.index.try_emplace(name, members.list.size());
      if (added) members.list.emplace_back();
      members.list[known->second] = {std::move(name), map.children[i + 1], key.at};
    }
    return std::nullopt;
  }

  static bool isMerge(const YamlNode& key) {
    if (key.kind != YamlNode::Kind::Scalar || key.text != "<<") return false;
    return key.tag == kPlainTag || key.tag == std::string{kCoreTag} + "merge";
  }

  Error merge(NodeId id, std::size_t depth, Members& members) {
    const YamlNode& source = tree_.nodes[id];
    if (auto error = checkLimits(source, depth)) return error;
    if (source.kind == YamlNode::Kind::Map) {
      values_ += source.children.size();  // merging has a cost, even if all members are overridden
      return collect(source, depth, members);
    }
    if (source.kind != YamlNode::Kind::Sequence) return errorAt(source.at, kMergeRequiresMap);
    for (auto item = source.children.rbegin(); item != source.children.rend();
         ++item) {  // the first map takes precedence
      const YamlNode& node = tree_.nodes[*item];
      if (node.kind != YamlNode::Kind::Map) return errorAt(node.at, kMergeRequiresMap);
      if (auto error = merge(*item, depth + 1, members)) return error;
    }
    return std::nullopt;
  }

  Error nameOf(const YamlNode& key, std::string& name) {
    constexpr std::string_view kAdvice = "a key must be a string; quote it";
    if (key.kind != YamlNode::Kind::Scalar) return errorAt(key.at, std::string{kAdvice});
    if (auto error = checkLimits(key, 0)) return error;
    const auto resolved = resolveScalar(key.text, key.tag);
    const auto* scalar = std::get_if<ScalarValue>(&resolved);
    if (scalar == nullptr) return errorAt(key.at, std::string{kAdvice});
    if (const auto* text = std::get_if<std::string_view>(scalar)) {
      name = *text;
    } else if (const auto* truth = std::get_if<bool>(scalar)) {
      name = *truth ? "true" : "false";
    } else if (const auto* number = std::get_if<std::int64_t>(scalar)) {
      name = std::to_string(*number);
    } else {
      return errorAt(key.at, std::string{kAdvice});
    }
    return std::nullopt;
  }

  static constexpr const char* kMergeRequiresMap = "a merge key (<<) requires a map or a list of maps";

  const YamlTree& tree_;
  TextDocument& out_;
  json::Allocator& allocator_;
  Expansion& left_;
  Expansion written_{tree_.nodes.size(), 0};  ///< what the document contains without expansion
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

/// Checks the size, UTF-8 and control characters before parsing. Tabs and line breaks are allowed.
Error checkText(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return json::ParseError{fmt::format("longer than {} bytes", kMaxTextBytes), kMaxTextBytes, 1, 1};
  }
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
    const std::size_t length = json::utf8Length(text.substr(at, 4));
    if (control || length == 0) {
      json::ParseError error = errorAt(positionOf(text, at), control ? "control character" : "invalid UTF-8");
      error.offset = at;
      return error;
    }
    at += length;
  }
  return std::nullopt;
}

}  // namespace

TextDocuments parseDocuments(std::string_view text) {
  Expansion left;
  return parseDocuments(text, left);
}

TextDocuments parseDocuments(std::string_view text, Expansion& left) {
  TextDocuments result;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  result.error = checkText(text);
  if (result.error) return result;
  auto json = parseJsonText(text);
  constexpr std::string_view kDuplicate = "duplicate name";
  const bool lacksPosition = json && json->error && json->error->reason.starts_with(kDuplicate);
  if (json && !lacksPosition) return std::move(*json);
  result.error = readYaml(text, [&](const YamlTree& tree) -> Error {
    TextDocument document;
    if (auto error = Converter{tree, document, left}.run()) return error;
    if (document.value.IsNull()) return std::nullopt;
    if (result.documents.size() == kMaxDocuments) return errorAt(document.start, "too many documents");
    result.documents.push_back(std::move(document));
    return std::nullopt;
  });
  // JSON is YAML, too, and the positions of its names are known only there.
  if (lacksPosition && !(result.error && result.error->reason.starts_with(kDuplicate)))
    return std::move(*json);
  return result;
}

}  // namespace dynamo::text

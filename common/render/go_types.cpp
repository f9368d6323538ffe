#include "common/render/go_types.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "common/json/build.h"
#include "common/k8s/quantity.h"
#include "common/render/go_types_table.h"
#include "common/render/hash.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

struct Type;

enum class Form { Scalar, Scalars, StringMap, Quantity, QuantityMap, Raw, Struct, Structs };

struct Member {
  std::string_view name;
  Form form = Form::Scalar;
  bool pointer = false;
  bool always = false;
  std::string_view typeName;
  const Type* type = nullptr;
};

struct Type {
  std::vector<Member> members;

  const Member* find(std::string_view name) const {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.name == name; });
    return found == members.end() ? nullptr : &*found;
  }
};

using Types = std::map<std::string_view, Type>;

std::string_view nextWord(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return word;
}

Member parseMember(std::string_view word) {
  Member member;
  while (word.ends_with('*') || word.ends_with('!')) {
    (word.back() == '*' ? member.pointer : member.always) = true;
    word.remove_suffix(1);
  }
  member.name = nextWord(word, ':');
  if (word.empty()) return member;
  if (word == "[]") {
    member.form = Form::Scalars;
  } else if (word == "{}") {
    member.form = Form::StringMap;
  } else if (word == "q") {
    member.form = Form::Quantity;
  } else if (word == "{}q") {
    member.form = Form::QuantityMap;
  } else if (word == "raw") {
    member.form = Form::Raw;
  } else if (word.starts_with("[]")) {
    member.form = Form::Structs;
    member.typeName = word.substr(2);
  } else {
    member.form = Form::Struct;
    member.typeName = word;
  }
  return member;
}

Types parseTable() {
  Types types;
  std::string_view text = kGoTypes;
  while (!text.empty()) {
    std::string_view line = nextWord(text, '\n');
    if (line.empty()) continue;
    Type& type = types[nextWord(line, ':')];
    while (!line.empty()) {
      const std::string_view word = nextWord(line, ' ');
      if (!word.empty()) type.members.push_back(parseMember(word));
    }
  }
  for (auto& [name, type] : types) {
    for (Member& member : type.members) {
      if (!member.typeName.empty()) member.type = &types.at(member.typeName);
    }
  }
  return types;
}

const Type& typeOf(std::string_view name) {
  static const Types kTypes = parseTable();
  const auto found = kTypes.find(name);
  if (found == kTypes.end()) throw std::logic_error{"no such type: " + std::string{name}};
  return found->second;
}

bool isZero(const Value& value) {
  if (value.IsNumber()) return value.GetDouble() == 0;
  return json::isEmpty(value) || value.IsFalse();
}

std::string quantityText(const Value& value) {
  return k8s::canonicalQuantity(value.IsString() ? json::text(value) : std::string_view{json::dump(value)});
}

void appendType(std::string& out, const Value& value, const Type& type);

void appendStringMap(std::string& out, const Value& map, bool quantities) {
  out += '{';
  bool first = true;
  for (const auto* member : sortedMembers(map)) {
    if (!first) out += ',';
    first = false;
    appendGoString(out, json::text(member->name));
    out += ':';
    if (quantities) {
      appendGoString(out, quantityText(member->value));
    } else {
      out += goJson(member->value);
    }
  }
  out += '}';
}

/// What Go writes for an absent member without omitempty.
std::string_view zeroText(const Member& member) {
  switch (member.form) {
    case Form::Struct:
      return member.pointer ? "null" : "{}";
    case Form::Structs:
    case Form::Scalars:
    case Form::StringMap:
    case Form::QuantityMap:
    case Form::Raw:
      return "null";
    case Form::Quantity:
      return R"("0")";
    case Form::Scalar:
      break;
  }
  static constexpr std::string_view kNumbers[] = {"nodeCount", "containerPort", "port",      "maxSkew",
                                                  "weight",    "seconds",       "partition", "lun"};
  const bool number = std::find(std::begin(kNumbers), std::end(kNumbers), member.name) != std::end(kNumbers);
  return member.pointer ? "null" : number ? "0" : R"("")";
}

void appendMember(std::string& out, const Member& member, const Value& value) {
  switch (member.form) {
    case Form::Struct:
      if (value.IsObject()) {
        appendType(out, value, *member.type);
      } else {
        out += zeroText(member);
      }
      return;
    case Form::Structs:
      out += '[';
      for (rapidjson::SizeType i = 0; value.IsArray() && i < value.Size(); ++i) {
        if (i > 0) out += ',';
        appendType(out, value[i], *member.type);
      }
      out += ']';
      return;
    case Form::StringMap:
    case Form::QuantityMap:
      if (value.IsObject()) {
        appendStringMap(out, value, member.form == Form::QuantityMap);
      } else {
        out += zeroText(member);
      }
      return;
    case Form::Quantity:
      appendGoString(out, quantityText(value));
      return;
    case Form::Scalar:
    case Form::Scalars:
    case Form::Raw:
      out += goJson(value);
  }
}

void appendType(std::string& out, const Value& value, const Type& type) {
  out += '{';
  bool first = true;
  for (const Member& member : type.members) {
    const Value* given = json::find(value, member.name);
    const bool written =
        given != nullptr &&
        (member.pointer || (member.form == Form::Struct && !member.always) || !isZero(*given));
    if (!written && !member.always) continue;
    if (!first) out += ',';
    first = false;
    appendGoString(out, member.name);
    out += ':';
    if (given == nullptr) {
      out += zeroText(member);
    } else {
      appendMember(out, member, *given);
    }
  }
  out += '}';
}

void normalizeType(Value& value, const Type& type, Allocator& allocator);

void normalizeMember(Value& value, const Member& member, Allocator& allocator) {
  const auto quantity = [&](Value& q) {
    if (q.IsString() || q.IsNumber()) q = json::string(quantityText(q), allocator);
  };
  if (member.form == Form::Struct) normalizeType(value, *member.type, allocator);
  if (member.form == Form::Structs && value.IsArray()) {
    for (Value& item : value.GetArray()) normalizeType(item, *member.type, allocator);
  }
  if (member.form == Form::Quantity) quantity(value);
  if (member.form == Form::QuantityMap && value.IsObject()) {
    for (auto& entry : value.GetObject()) quantity(entry.value);
  }
}

void normalizeType(Value& value, const Type& type, Allocator& allocator) {
  if (!value.IsObject()) return;
  for (auto it = value.MemberBegin(); it != value.MemberEnd();) {
    const Member* member = type.find(json::text(it->name));
    if (it->value.IsNull()) {
      it = value.EraseMember(it);
      continue;
    }
    if (member == nullptr) {
      ++it;
      continue;
    }
    normalizeMember(it->value, *member, allocator);
    // Go writes an empty struct that is not a pointer, but it has no meaning.
    const bool drop =
        !member->pointer && (!member->always || member->form == Form::Struct) && isZero(it->value);
    it = drop ? value.EraseMember(it) : it + 1;
  }
  // Typed clients always write the divisor, but a custom resource may lack it.
  if (const Member* divisor = type.find("divisor");
      divisor != nullptr && json::find(value, "divisor") == nullptr) {
    json::set(value, "divisor", json::string("0", allocator), allocator);
  }
}

}  // namespace

std::string goTypedJson(const Value& value, std::string_view type) {
  std::string out;
  appendType(out, value, typeOf(type));
  return out;
}

void normalize(Value& value, std::string_view type, Allocator& allocator) {
  normalizeType(value, typeOf(type), allocator);
}

}  // namespace dynamo::render

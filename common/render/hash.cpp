#include "common/render/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "common/api/dynamo.h"
#include "common/render/go_types.h"

namespace dynamo::render {
namespace {

using json::Value;

constexpr std::size_t kShortHash = 8;
constexpr std::size_t kIdentityHash = 16;

/// Formats a number as Go does: the shortest digits, with an exponent below 1e-6 and from 1e21.
std::string goFloat(double value) {
  std::array<char, 32> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  const std::string shortest{text.data(), written.ptr};
  const std::size_t mark = shortest.find('e');
  int exponent = 0;
  const std::size_t sized = mark + (shortest[mark + 1] == '+' ? 2 : 1);
  std::from_chars(shortest.data() + sized, shortest.data() + shortest.size(), exponent);
  std::string digits = shortest.substr(0, mark);
  const std::string sign = digits.starts_with('-') ? "-" : "";
  std::erase_if(digits, [](char c) { return c == '-' || c == '.'; });
  if (value != 0 && (std::abs(value) < 1e-6 || std::abs(value) >= 1e21)) {
    const std::string fraction = digits.size() > 1 ? '.' + digits.substr(1) : "";
    return fmt::format("{}{}{}e{:+}", sign, digits[0], fraction, exponent);
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + '.' + digits.substr(whole);
}

void appendNumber(std::string& out, const Value& number) {
  if (number.IsInt64()) {
    out += fmt::format("{}", number.GetInt64());
  } else if (number.IsUint64()) {
    out += fmt::format("{}", number.GetUint64());
  } else {
    out += goFloat(number.GetDouble());
  }
}

void appendGo(std::string& out, const Value& value) {
  if (value.IsObject()) {
    const std::vector<const Value::Member*> members = sortedMembers(value);
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ',';
      appendGoString(out, json::text(members[i]->name));
      out += ':';
      appendGo(out, members[i]->value);
    }
    out += '}';
  } else if (value.IsArray()) {
    out += '[';
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
      if (i > 0) out += ',';
      appendGo(out, value[i]);
    }
    out += ']';
  } else if (value.IsString()) {
    appendGoString(out, json::text(value));
  } else if (value.IsNumber()) {
    appendNumber(out, value);
  } else {
    out += value.IsNull() ? "null" : value.GetBool() ? "true" : "false";
  }
}

}  // namespace

std::string sha256Hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string modelHash(std::string_view model) {
  return sha256Hex(model).substr(0, kModelHashDigits);
}

void appendGoString(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '<':
      case '>':
      case '&':
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else if (text.substr(i).starts_with("\xE2\x80\xA8") || text.substr(i).starts_with("\xE2\x80\xA9")) {
          out += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
          i += 2;
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

std::vector<const Value::Member*> sortedMembers(const Value& object) {
  std::vector<const Value::Member*> members;
  for (const auto& member : object.GetObject()) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const auto* a, const auto* b) { return json::text(a->name) < json::text(b->name); });
  return members;
}

std::string goJson(const Value& value) {
  std::string out;
  appendGo(out, value);
  return out;
}

std::string workerHashInput(const Value& graph) {
  const Value* services = json::findObject(json::findObject(&graph, "spec"), "services");
  std::string text = "{";
  if (services == nullptr) return text + '}';
  for (const auto* service : sortedMembers(*services)) {
    const Value& value = service->value;
    if (!value.IsObject() || !api::isWorkerType(json::findText(&value, "componentType"))) continue;
    if (text.size() > 1) text += ',';
    appendGoString(text, json::text(service->name));
    text += ':';
    text += goTypedJson(value, "Service");
  }
  return text + '}';
}

std::string workerHash(const Value& graph) {
  return sha256Hex(workerHashInput(graph)).substr(0, kShortHash);
}

std::string identityHash(const Value& identity) {
  const auto orOne = [&](std::string_view name) {
    const Value* value = json::find(identity, name);
    const bool given = value != nullptr && value->IsInt64() && value->GetInt64() != 0;
    return fmt::format(",\"{}\":{}", name, given ? value->GetInt64() : 1);
  };
  const auto optionalText = [&](std::string_view name) {
    const std::string_view value = json::findText(&identity, name);
    std::string out;
    if (value.empty()) return out;
    out = fmt::format(",\"{}\":", name);
    appendGoString(out, value);
    return out;
  };
  std::string text = R"({"model":)";
  appendGoString(text, json::findText(&identity, "model"));
  text += R"(,"backendFramework":)";
  appendGoString(text, json::findText(&identity, "backendFramework"));
  text += optionalText("dynamoVersion");
  text += orOne("tensorParallelSize");
  text += orOne("pipelineParallelSize");
  text += optionalText("dtype");
  const Value* length = json::find(identity, "maxModelLen");
  if (length != nullptr && length->IsInt64() && length->GetInt64() != 0) {
    text += fmt::format(",\"maxModelLen\":{}", length->GetInt64());
  }
  const Value* extra = json::findObject(&identity, "extraParameters");
  if (extra != nullptr && !extra->ObjectEmpty()) text += ",\"extraParameters\":" + goJson(*extra);
  return sha256Hex(text + '}').substr(0, kIdentityHash);
}

std::string checkpointHash(const Value& checkpoint) {
  const Value* status = json::findObject(&checkpoint, "status");
  const Value* identity = json::findObject(json::findObject(&checkpoint, "spec"), "identity");
  const std::string_view phase = json::findText(status, "phase");
  const std::string_view recorded = json::findText(status, "identityHash");
  const bool open = phase.empty() || phase == "Pending";
  if (identity != nullptr && (open || recorded.empty())) return identityHash(*identity);
  return std::string{recorded};
}

}  // namespace dynamo::render

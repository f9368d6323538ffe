#include "common/commands/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::commands {
namespace {

const char* severity(const FileFinding& finding) {
  return finding.isError ? "error" : "warning";
}

/// "KIND/NAME", or the name of an object without a kind.
std::string objectOf(const FileFinding& finding) {
  return finding.kind.empty() ? finding.name : fmt::format("{}/{}", finding.kind, finding.name);
}

/// A path as a relative URI. Viewers of SARIF decode it.
std::string uriOf(std::string_view path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string uri;
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

using Pretty = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

class JsonText {
 public:
  JsonText() : writer_(buffer_) { writer_.SetIndent(' ', 2); }

  JsonText& key(std::string_view name) { return text(name); }
  JsonText& text(std::string_view value) {
    writer_.String(value.data() == nullptr ? "" : value.data(),
                   static_cast<rapidjson::SizeType>(value.size()));
    return *this;
  }
  JsonText& member(std::string_view name, std::string_view value) { return key(name).text(value); }
  JsonText& member(std::string_view name, std::size_t value) {
    key(name);
    writer_.Uint64(value);
    return *this;
  }
  JsonText& object() {
    writer_.StartObject();
    return *this;
  }
  JsonText& endObject() {
    writer_.EndObject();
    return *this;
  }
  JsonText& array() {
    writer_.StartArray();
    return *this;
  }
  JsonText& endArray() {
    writer_.EndArray();
    return *this;
  }
  std::string take() { return std::string{buffer_.GetString(), buffer_.GetSize()} + "\n"; }

 private:
  rapidjson::StringBuffer buffer_;
  Pretty writer_;
};

}  // namespace

std::size_t Summary::errors() const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [](const FileFinding& f) { return f.isError; }));
}
std::size_t Summary::warnings() const {
  return findings.size() - errors();
}

std::string toLine(const FileFinding& finding) {
  // Names and map keys may contain line breaks.
  return field::oneLine(fmt::format("{}:{}:{}: {}: {}: {}: {} [{}]", finding.file, finding.at.line,
                                    finding.at.column, severity(finding), objectOf(finding), finding.field,
                                    finding.message, finding.rule));
}

bool reportErrors(const std::vector<FileFinding>& findings, std::ostream& report) {
  bool any = false;
  for (const FileFinding& finding : findings) {
    if (!finding.isError) continue;
    report << toLine(finding) << '\n';
    any = true;
  }
  return any;
}

std::string toText(const Summary& summary) {
  std::string text;
  for (const FileFinding& finding : summary.findings) text += toLine(finding) + "\n";
  const auto plural = [](std::size_t n, const char* word) {
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
  };
  text += fmt::format("{}: {}, {}", plural(summary.objects, "object"), plural(summary.errors(), "error"),
                      plural(summary.warnings(), "warning"));
  if (summary.skipped != 0)
    text += fmt::format("; {} of other API groups not checked", plural(summary.skipped, "object"));
  return text + "\n";
}

std::string toJson(const Summary& summary) {
  JsonText json;
  json.object().key("findings").array();
  for (const FileFinding& finding : summary.findings) {
    json.object()
        .member("file", finding.file)
        .member("line", std::size_t{finding.at.line})
        .member("column", std::size_t{finding.at.column})
        .member("severity", severity(finding))
        .member("rule", finding.rule)
        .member("kind", finding.kind)
        .member("name", finding.name)
        .member("field", finding.field)
        .member("message", finding.message)
        .endObject();
  }
  json.endArray()
      .member("objects", summary.objects)
      .member("skipped", summary.skipped)
      .member("errors", summary.errors())
      .member("warnings", summary.warnings())
      .endObject();
  return json.take();
}

std::string toSarif(const Summary& summary, std::string_view program, std::string_view version) {
  std::set<std::string> rules;
  for (const FileFinding& finding : summary.findings) rules.insert(finding.rule);
  JsonText json;
  json.object()
      .member("$schema", "https://json.schemastore.org/sarif-2.1.0.json")
      .member("version", "2.1.0")
      .key("runs")
      .array()
      .object();
  json.key("tool").object().key("driver").object().member("name", program).member("version", version);
  json.key("rules").array();
  for (const std::string& rule : rules) json.object().member("id", rule).endObject();
  json.endArray().endObject().endObject().key("results").array();
  for (const FileFinding& finding : summary.findings) {
    json.object().member("ruleId", finding.rule).member("level", severity(finding));
    json.key("message").object().member(
        "text", fmt::format("{}: {}: {}", objectOf(finding), finding.field, finding.message));
    json.endObject().key("locations").array().object().key("physicalLocation").object();
    json.key("artifactLocation").object().member("uri", uriOf(finding.file)).endObject();
    if (finding.at.line != 0) {
      json.key("region")
          .object()
          .member("startLine", std::size_t{finding.at.line})
          .member("startColumn", std::size_t{finding.at.column})
          .endObject();
    }
    json.endObject().endObject().endArray().endObject();
  }
  json.endArray().endObject().endArray().endObject();
  return json.take();
}

}  // namespace dynamo::commands

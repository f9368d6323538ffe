// fields.txt lists every field of the pod schema, so a Kubernetes version with new fields fails this test.

#include <map>
#include <set>

#include "cases.h"

namespace dynamo::rules::pod::test {
namespace {

/// A type whose fields are all forbidden.
constexpr std::string_view kClosed = "EphemeralContainer";

std::string contents(std::string_view path) {
  std::ifstream file{dynamo::test::sourceFile(path)};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Settled {
  std::string how;
  std::vector<std::string> words;
};

std::map<std::string, Settled> table() {
  std::map<std::string, Settled> rows;
  std::istringstream lines{contents("tests/unit/rules/pod/fields.txt")};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream columns{line};
    std::string field;
    Settled row;
    columns >> field >> row.how;
    for (std::string word; columns >> word;) row.words.push_back(word);
    INFO(field);
    CHECK(rows.emplace(field, row).second);
  }
  return rows;
}

/// The types that a part of a schema refers to.
void references(const json::Value& part, std::vector<std::string_view>& found) {
  if (part.IsArray()) {
    for (const json::Value& item : part.GetArray()) references(item, found);
  } else if (part.IsObject()) {
    for (const auto& member : part.GetObject()) {
      if (json::text(member.name) == "$ref") found.push_back(json::text(member.value));
      references(member.value, found);
    }
  }
}

/// "Type.field" for everything below a pod template.
std::set<std::string> schemaFields(const json::Value& types) {
  std::set<std::string> fields;
  std::set<std::string_view> seen;
  std::vector<std::string_view> open{"PodTemplateSpec"};
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    if (!seen.insert(name).second) continue;
    if (name == kClosed) {
      fields.insert(std::string{name} + ".*");
      continue;
    }
    const json::Value* type = json::find(types, name);
    REQUIRE(type != nullptr);
    references(*type, open);
    const json::Value* members = json::find(*type, "properties");
    if (members == nullptr) continue;
    for (const auto& member : members->GetObject()) {
      fields.insert(fmt::format("{}.{}", name, json::text(member.name)));
    }
  }
  return fields;
}

TEST_CASE("every field of the pod schema is listed") {
  const json::Document schema = parsed(contents("common/schema/k8s/types.json"));
  const std::set<std::string> fields = schemaFields(*json::find(schema, "types"));
  const std::map<std::string, Settled> rows = table();
  CHECK(fields.size() > 400);
  for (const std::string& field : fields) {
    INFO("not in fields.txt: " << field);
    CHECK(rows.contains(field));
  }
  for (const auto& [field, row] : rows) {
    INFO("not in the schema: " << field);
    CHECK(fields.contains(field));
  }
}

TEST_CASE("every listed field names a known rule or a reason") {
  std::map<std::string_view, field::Severity> listed;
  for (const field::Rule& rule : podRules()) listed[rule.id] = rule.severity;
  std::set<std::string> used;
  for (const auto& [field, row] : table()) {
    INFO(field);
    REQUIRE(!row.words.empty());
    if (row.how == "free" || row.how == "cannot") continue;
    bool error = false;
    for (const std::string& id : row.words) {
      INFO(id);
      REQUIRE(listed.contains(id));
      error = error || listed[id] == field::Severity::Error;
      used.insert(id);
    }
    CHECK(row.how == (error ? "checked" : "warned"));
  }
  for (const auto& [id, severity] : listed) {
    INFO("no field names the rule " << id);
    CHECK((used.contains(std::string{id}) || id.starts_with("job.")));
  }
}

}  // namespace
}  // namespace dynamo::rules::pod::test

// Every row of the table: the findings of the rules, which reject what a real API server rejects.

#include "cases.h"
#include "common/k8s/names.h"

namespace dynamo::rules::pod::test {
namespace {

TEST_CASE("pods and other objects") {
  const json::Document rows = cases();
  REQUIRE(rows.IsArray());
  REQUIRE(rows.Size() > 100);
  for (const json::Value& row : rows.GetArray()) {
    INFO(json::findText(&row, "name"));
    std::vector<std::string> expected;
    if (const json::Value* says = json::find(row, "says")) {
      for (const json::Value& line : says->GetArray()) expected.emplace_back(json::text(line));
    }
    const std::vector<std::string> actual = lines(findingsOf(row));
    CHECK(joined(actual) == joined(expected));

    const bool error =
        std::any_of(actual.begin(), actual.end(), [](const auto& line) { return line[0] == 'E'; });
    const bool stricter = json::find(row, "stricter") != nullptr;
    CHECK(error == (json::findBool(&row, "refused").value() || stricter));
  }
}

TEST_CASE("hosts of an Ingress") {
  const json::Document rows = cases(true);
  REQUIRE(rows.Size() > 10);
  for (const json::Value& row : rows.GetArray()) {
    const json::Value& rule = (*json::find(json::find(row, "spec"), "rules"))[0];
    const std::string_view host = json::findText(&rule, "host");
    INFO(host);
    const json::Value* says = json::find(row, "says");
    // Without a host the Ingress serves every host.
    const std::string problem = host.empty() ? "" : k8s::hostProblem(host);
    CHECK(problem == (says == nullptr ? "" : json::text((*says)[0])));
    CHECK(problem.empty() != json::findBool(&row, "refused").value());
  }
}

std::vector<json::Value*> allValues(json::Value& root) {
  std::vector<json::Value*> found{&root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    json::Value& at = *found[i];
    if (at.IsObject()) {
      for (auto& member : at.GetObject()) found.push_back(&member.value);
    } else if (at.IsArray()) {
      for (auto& item : at.GetArray()) found.push_back(&item);
    }
  }
  return found;
}

TEST_CASE("values of wrong types are skipped") {
  const json::Document others =
      parsed(R"([null,true,-1,1.5,9223372036854775808,"","x",[],[null],{},{"a":{}}])");
  json::Document rows = cases();
  auto& allocator = rows.GetAllocator();
  std::size_t runs = 0;
  for (json::Value& row : rows.GetArray()) {
    for (const char* part : {"container", "podSpec", "metadata", "jobSpec", "spec"}) {
      json::Value* value = json::find(row, part);
      if (value == nullptr) continue;
      for (json::Value* at : allValues(*value)) {
        if (at == value) continue;
        json::Value kept{std::move(*at)};
        for (const json::Value& other : others.GetArray()) {
          at->CopyFrom(other, allocator);
          lines(findingsOf(row));
          ++runs;
        }
        *at = std::move(kept);
      }
    }
  }
  CHECK(runs > 10'000);
}

TEST_CASE("warnings are short enough for their path") {
  constexpr std::size_t kMaxText = 75;
  const json::Document rows = cases();
  for (const json::Value& row : rows.GetArray()) {
    for (const field::Warning& warning : findingsOf(row).warnings) {
      INFO(warning.field.text() << " " << warning.text);
      CHECK(warning.text.size() <= kMaxText);
    }
  }
}

}  // namespace
}  // namespace dynamo::rules::pod::test

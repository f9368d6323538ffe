// Over generated objects: the field that a rendered value is said to be from holds it. DYNAMO_LAW_OBJECTS
// sets how many.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "common/defaults/apply.h"
#include "common/json/build.h"
#include "common/k8s/quantity.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "tests/unit/defaults/generator.h"
#include "tests/unit/render/recorded.h"

namespace dynamo::render {
namespace {

using dynamo::test::GraphGenerator;
using dynamo::test::Taste;
using field::Path;
using json::Allocator;
using json::Value;
using test::Pathway;
using test::Recorded;
using test::recorded;
using test::Setup;
using test::shown;
using test::Template;
using Source = Origin::Source;

std::uint64_t objects() {
  const char* set = std::getenv("DYNAMO_LAW_OBJECTS");
  return set == nullptr ? 20000 : std::strtoull(set, nullptr, 10);
}

Value schemaDefaults(const Value& object, Allocator& allocator) {
  Value made = json::copy(object, allocator);
  const schema::Node* node =
      schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  schema::applySchemaDefaults(*node->member("spec"), *json::find(made, "spec"), allocator);
  return made;
}

/// Equal as pods have it: quantities are written in one way there.
bool equalInPods(const Value& given, const Value& rendered) {
  if (json::equal(given, rendered)) return true;
  const auto text = k8s::quantityText(given);
  return text && rendered.IsString() && k8s::canonicalQuantity(*text) == json::text(rendered);
}

/// What a default replaces.
bool isNothing(const Value& given) {
  const auto size = k8s::parseQuantity(json::text(given));
  return json::isEmpty(given) || (size && size->nano == 0);
}

struct Counts {
  std::uint64_t user = 0, made = 0, byDefault = 0, byOperator = 0;
};

/// What is wrong with the origin of the leaf `rendered`; empty when nothing is.
std::string problem(const Value& object, const Origin& origin, const Value& rendered, const Path& at,
                    Counts& counts) {
  const Value* given = field::valueAt(object, origin.field);
  switch (origin.source) {
    case Source::User:
      ++counts.user;
      if (given == nullptr) return at.view().back().name == "divisor" ? "" : "the user has no such value";
      return equalInPods(*given, rendered) ? "" : "the user's value is " + json::dump(*given);
    case Source::Made:
      ++counts.made;
      return given == nullptr || given->IsNull() ? "is made of nothing" : "";
    case Source::Default:
      ++counts.byDefault;
      if (given == nullptr || isNothing(*given) || equalInPods(*given, rendered)) return "";
      return "the default replaces " + json::dump(*given);
    case Source::Operator:
      ++counts.byOperator;
      return origin.field.empty() ? "is told nowhere" : "";
  }
  return "no source";
}

void forEachLeaf(const Value& value, const Path& at,
                 const std::function<void(const Path&, const Value&)>& f) {
  if (value.IsObject() && !value.ObjectEmpty()) {
    for (const auto& member : value.GetObject()) forEachLeaf(member.value, at / json::text(member.name), f);
  } else if (value.IsArray() && !value.Empty()) {
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) forEachLeaf(value[i], at[i], f);
  } else {
    f(at, value);
  }
}

TEST_CASE("origins: the field of a rendered value holds it, or what it is made of") {
  const Setup setups[] = {Setup{Pathway::Grove}, Setup{Pathway::LeaderWorkerSet}, Setup{Pathway::Deployment}};
  Counts counts;
  std::vector<char> memory(std::size_t{1} << 22U);
  for (std::uint64_t seed = 0; seed < objects(); ++seed) {
    Allocator allocator{memory.data(), memory.size()};
    GraphGenerator generator{seed, allocator, seed % 2 == 0 ? Taste::Odd : Taste::Plausible};
    Value object = seed % 4 == 3 ? generator.component() : generator.graph();
    Value& metadata = *json::find(object, "metadata");
    if (json::remove(metadata, "generateName")) {
      json::set(metadata, "name", json::string("made", allocator), allocator);
    }
    const Setup& setup = setups[seed % 3];
    object = schemaDefaults(object, allocator);
    // Half of them as the webhook stores them: then its record says what is a default.
    if (seed / 12 % 2 == 0) {
      defaults::applyComponentDefaults(object, nullptr, {setup.defaults, setup.config, "1.0.0", "ns"},
                                       allocator);
    }
    const Recorded all = recorded(object, setup);
    for (const Template& pod : all.templates) {
      forEachLeaf(*pod.value, {}, [&](const Path& at, const Value& rendered) {
        const Origin origin = pod.origins->of(at);
        const std::string wrong = problem(object, origin, rendered, at, counts);
        if (wrong.empty()) return;
        FAIL("seed " << seed << ", " << at.text() << " " << json::dump(rendered) << " is " << shown(origin)
                     << ": " << wrong << "\nof " << json::dump(object));
      });
    }
  }
  INFO(counts.user << " " << counts.made << " " << counts.byDefault << " " << counts.byOperator);
  CHECK(counts.user > objects());
  CHECK(counts.made > objects() / 20);
  CHECK(counts.byDefault > objects());
  CHECK(counts.byOperator > objects());
}

}  // namespace
}  // namespace dynamo::render

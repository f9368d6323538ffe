// The laws of defaults (common/decisions.md) over generated objects. Law 4 is tested with rendering.
// DYNAMO_LAW_OBJECTS sets the number of objects.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/api/dynamo.h"
#include "common/defaults/record.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "tests/unit/defaults/api_server.h"
#include "tests/unit/defaults/generator.h"
#include "tests/unit/defaults/support.h"

namespace dynamo {
namespace {

using json::Allocator;
using json::Value;

std::uint64_t objects() {
  const char* set = std::getenv("DYNAMO_LAW_OBJECTS");
  return set == nullptr ? 20000 : std::strtoull(set, nullptr, 10);
}

void requireSame(const char* what, std::uint64_t seed, const Value& wanted, const Value& got) {
  if (json::equal(wanted, got)) return;
  FAIL(what << ", seed " << seed << "\nwanted " << json::dump(wanted) << "\ngot    " << json::dump(got));
}

/// An admission with every variable that a configuration can set.
struct FullAdmission : test::Admission {
  explicit FullAdmission(std::string_view overlay = {}) : Admission(overlay) {
    config.infrastructure = {"nats://nats:4222", "etcd:2379", "http://mx:8080", "http://prometheus:9090"};
  }
};

const char* const kComplete = R"({"userLists":"complete"})";

/// A manifest and how it is written: without field managers, by server-side apply or by client-side apply.
struct Sample {
  Value manifest;
  Value request;
  unsigned way;

  Sample(std::uint64_t seed, test::GraphGenerator& generator, Allocator& allocator)
      : manifest(seed % 4 == 3 ? generator.component() : generator.graph()), way(generator.below(3)) {
    request = as(manifest, allocator);
  }

  Value as(const Value& written, Allocator& allocator) const {
    Value made = json::copy(written, allocator);
    if (way == 1) test::setManagedFields(made, written, allocator);
    if (way == 2) {
      test::setLastApplied(made, written, allocator);
      test::setManagedFields(made, made, allocator);
    }
    return made;
  }
};

template <class Check>
void forEachSample(Check&& check) {
  std::uint64_t held = 0;
  std::vector<char> memory(std::size_t{1} << 22U);
  for (std::uint64_t seed = 0; seed < objects(); ++seed, ++held) {
    Allocator allocator{memory.data(), memory.size()};
    test::GraphGenerator generator{seed, allocator};
    const Sample sample{seed, generator, allocator};
    check(seed, generator, sample, allocator);
  }
  CHECK(held == objects());
}

Value schemaDefaults(const Value& object, Allocator& allocator) {
  Value made = json::copy(object, allocator);
  const schema::Node* node =
      schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  schema::applySchemaDefaults(*node->member("spec"), *json::find(made, "spec"), allocator);
  test::dropNullServices(made);
  return made;
}

TEST_CASE("law 1: defaulting is idempotent for every order of members") {
  const FullAdmission admission;
  forEachSample(
      [&](std::uint64_t seed, test::GraphGenerator& generator, const Sample& sample, Allocator& allocator) {
        const Value once = admission.create(sample.request, allocator);
        requireSame("called again on CREATE", seed, once, admission.create(once, allocator));
        Value shuffled = json::copy(once, allocator);
        generator.shuffle(shuffled);
        requireSame("UPDATE without a change", seed, once, admission.update(shuffled, once, allocator));
        Value unordered = json::copy(sample.request, allocator);
        generator.shuffle(unordered);
        requireSame("members in another order", seed, once, admission.create(unordered, allocator));
      });
}

/// Whether `whole` contains `part`. Lists are equal; with `completed`, lists with names may have more items
/// at their end.
bool contains(const Value& whole, const Value& part, bool completed) {
  if (part.IsObject() && whole.IsObject()) {
    for (const auto& member : part.GetObject()) {
      const Value* other = json::findRaw(whole, json::text(member.name));
      if (other == nullptr || !contains(*other, member.value, completed)) return false;
    }
    return true;
  }
  if (part.IsArray() && whole.IsArray()) {
    if (completed ? whole.Size() < part.Size() : whole.Size() != part.Size()) return false;
    for (rapidjson::SizeType i = 0; i < part.Size(); ++i) {
      if (!json::equal(whole[i], part[i])) return false;
    }
    const bool named = whole.Size() > part.Size() && json::find(&whole[part.Size()], "name") != nullptr;
    return whole.Size() == part.Size() || named;
  }
  return json::equal(whole, part);
}

TEST_CASE(
    "laws 2 and 3: the user's fields are unchanged, the intent equals the user's manifest, the record is "
    "short") {
  const FullAdmission leaves;
  const FullAdmission completes{kComplete};
  std::uint64_t defaulted = 0;
  std::size_t longest = 0;
  forEachSample([&](std::uint64_t seed, test::GraphGenerator&, const Sample& sample, Allocator& allocator) {
    const bool completed = seed % 3 == 0;
    const FullAdmission& admission = completed ? completes : leaves;
    const Value intended = schemaDefaults(sample.request, allocator);
    const Value stored = admission.create(sample.request, allocator);
    if (!contains(stored, intended, completed)) {
      FAIL("seed " << seed << "\nuser   " << json::dump(intended) << "\nstored " << json::dump(stored));
    }
    requireSame("intent", seed, intended, defaults::intent(stored, allocator));
    defaulted += json::equal(stored, intended) ? 0 : 1;
    const defaults::Record record{&stored};
    const Value* services = json::find(record.component(), "services");
    if (services == nullptr) return;
    for (const auto& service : services->GetObject()) {
      longest = std::max(longest, json::dump(service.value).size());
    }
  });
  INFO("longest record of a service: " << longest);
  CHECK(longest > 700);
  CHECK(longest <= defaults::kMaxTrie);
  CHECK(defaulted > objects() * 9 / 10);
}

TEST_CASE("law 5: writing the same manifest again changes nothing, for every way of writing") {
  const FullAdmission admission;
  forEachSample([&](std::uint64_t seed, test::GraphGenerator&, const Sample& sample, Allocator& allocator) {
    const Value stored = admission.create(sample.request, allocator);
    requireSame(
        "server-side", seed, stored,
        admission.update(test::serverSideApply(stored, sample.manifest, allocator), stored, allocator));
    requireSame(
        "client-side", seed, stored,
        admission.update(test::clientSideApply(stored, sample.manifest, allocator), stored, allocator));
    requireSame("replace", seed, stored,
                admission.update(test::replace(stored, sample.request, allocator), stored, allocator));
  });
}

TEST_CASE("client-side apply removes the items that an earlier release added to lists of the user") {
  const FullAdmission earlier{kComplete};
  const FullAdmission admission;
  std::uint64_t differed = 0;
  forEachSample([&](std::uint64_t seed, test::GraphGenerator&, const Sample& sample, Allocator& allocator) {
    const Value stored = earlier.create(sample.request, allocator);
    const Value wanted = admission.create(sample.request, allocator);
    const Value got =
        admission.update(test::clientSideApply(stored, sample.manifest, allocator), stored, allocator);
    requireSame("applied again", seed, *json::find(&wanted, "spec"), *json::find(&got, "spec"));
    differed += json::equal(stored, got) ? 0 : 1;
    requireSame("then applied once more", seed, got,
                admission.update(test::clientSideApply(got, sample.manifest, allocator), got, allocator));
    requireSame("with the defaults of before", seed, got,
                earlier.update(test::clientSideApply(got, sample.manifest, allocator), got, allocator));
    requireSame("intent", seed, *json::find(defaults::intent(stored, allocator), "spec"),
                *json::find(defaults::intent(got, allocator), "spec"));
  });
  CHECK(differed > objects() / 10);
}

/// The record without its marks of nulls. The edited manifest has no nulls.
std::string withoutMarks(const Value& object) {
  std::string record{defaults::annotationOf(&object, api::annotation::kDefaulted)};
  std::erase(record, '!');
  return record;
}

TEST_CASE("an edit has the same result as creating the edited manifest") {
  const FullAdmission admission;
  forEachSample(
      [&](std::uint64_t seed, test::GraphGenerator& generator, const Sample& sample, Allocator& allocator) {
        const Value stored = admission.create(sample.request, allocator);
        Value manifest = schemaDefaults(sample.manifest, allocator);
        Value edited = json::copy(stored, allocator);
        test::GraphGenerator twin = generator;
        generator.edit(manifest);
        twin.edit(edited);
        const Value request = sample.as(manifest, allocator);
        json::set(edited, "metadata", json::copy(*json::find(&request, "metadata"), allocator), allocator);
        const Value wanted = admission.create(request, allocator);
        const Value got = admission.update(edited, stored, allocator);
        requireSame("edited", seed, *json::find(&wanted, "spec"), *json::find(&got, "spec"));
        if (withoutMarks(wanted) != withoutMarks(got)) FAIL("record of it, seed " << seed);
        if (sample.way !=
            0) {  // without field managers, a user's value equal to the default cannot be recognised
          requireSame("intent of it", seed, *json::find(schemaDefaults(manifest, allocator), "spec"),
                      *json::find(defaults::intent(got, allocator), "spec"));
        }
        requireSame("called again on UPDATE", seed, got, admission.update(got, stored, allocator));
        requireSame("then left alone", seed, got, admission.update(got, got, allocator));
      });
}

TEST_CASE("law 6: webhook replicas with different configurations do not alternate") {
  const FullAdmission one;
  const FullAdmission other{
      R"({"common":{"podSpec":{"terminationGracePeriodSeconds":90,"securityContext":null},
    "mainContainer":{"env":{"DYN_COMPONENT":null,"SITE":"x"}}},"types":{"worker":{"mainContainer":{"startupProbe":null}}}})"};
  std::uint64_t differed = 0;
  forEachSample([&](std::uint64_t seed, test::GraphGenerator& generator, const Sample& sample,
                    Allocator& allocator) {
    const Value stored = one.create(sample.request, allocator);
    differed += json::equal(stored, other.create(sample.request, allocator)) ? 0 : 1;
    requireSame("called again on CREATE", seed, stored, other.create(stored, allocator));
    requireSame("server-side", seed, stored,
                other.update(test::serverSideApply(stored, sample.manifest, allocator), stored, allocator));
    requireSame("replace", seed, stored,
                other.update(test::replace(stored, sample.request, allocator), stored, allocator));
    Value edited = json::copy(stored, allocator);
    generator.edit(edited);
    const Value moved = other.update(edited, stored, allocator);
    requireSame("edited", seed, moved, one.update(moved, moved, allocator));
  });
  CHECK(differed > objects() / 2);
}

}  // namespace
}  // namespace dynamo

// Law 4 of common/decisions.md over generated objects: the children do not depend on whether, or how often,
// admission has defaulted an object. Also, an object that admission defaulted and accepted is accepted again.
// DYNAMO_LAW_OBJECTS sets the number of objects.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/admission/validate.h"
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/render/children.h"
#include "common/render/object.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "tests/unit/defaults/api_server.h"
#include "tests/unit/defaults/generator.h"
#include "tests/unit/render/bypass.h"
#include "tests/unit/render/support.h"

namespace dynamo::render {
namespace {

using dynamo::test::GraphGenerator;
using dynamo::test::Taste;
using json::Allocator;
using json::Value;
using test::annotate;
using test::compared;
using test::Pathway;
using test::stamped;

std::uint64_t objects() {
  const char* set = std::getenv("DYNAMO_LAW_OBJECTS");
  return set == nullptr ? 20000 : std::strtoull(set, nullptr, 10);
}

config::OperatorConfig configFor(Pathway pathway) {
  config::OperatorConfig config = config::defaultConfig();
  config.infrastructure = {"nats://nats:4222", "etcd:2379", "http://mx:8080", "http://prometheus:9090"};
  config.orchestrators.grove.enabled = pathway == Pathway::Grove;
  config.orchestrators.lwsEnabled = pathway != Pathway::Deployment;
  config.mpi.sshSecretName = "mpi-secret";
  return config;
}

/// An operator that runs all components in one kind of workload.
struct Operator {
  admission::Settings settings;

  explicit Operator(Pathway pathway) : settings(configFor(pathway), "1.0.0", "dynamo-system/operator") {}

  Value admit(const Value& request, const Value* old, Allocator& allocator) const {
    Value object = json::copy(request, allocator);
    defaults::applyComponentDefaults(object, old, {settings.defaults, settings.config, "1.0.0", "ns"},
                                     allocator);
    return object;
  }

  std::vector<field::FieldError> refusals(const Value& object, const Value* old) const {
    return admission::judge(object, {.kind = json::findText(&object, "kind"), .username = "user", .old = old},
                            settings)
        .errors;
  }

  Children render(const Value& object) const {
    const std::string before = json::dump(object);
    Children children = json::findText(&object, "kind") == api::kDynamoGraphDeployment
                            ? renderAll(object, settings.context(), {})
                            : renderComponentDeployment(object, settings.context());
    // Components share its members.
    if (json::dump(object) != before) FAIL("rendering has changed its input, which was " << before);
    return children;
  }
};

const Operator& operatorOf(std::uint64_t seed) {
  static const Operator kOperators[] = {Operator{Pathway::Grove}, Operator{Pathway::LeaderWorkerSet},
                                        Operator{Pathway::Deployment}};
  return kOperators[seed % 3];
}

/// The path of the first difference with both values; empty when they are equal.
std::string difference(const Value& wanted, const Value& got, const std::string& path) {
  if (json::equal(wanted, got)) return {};
  if (wanted.IsObject() && got.IsObject()) {
    for (const auto& member : wanted.GetObject()) {
      const std::string below = path + "." + std::string{json::text(member.name)};
      const Value* other = json::findRaw(got, json::text(member.name));
      if (other == nullptr) return below + " is missing, wanted " + json::dump(member.value);
      if (std::string found = difference(member.value, *other, below); !found.empty()) return found;
    }
    for (const auto& member : got.GetObject()) {
      if (json::findRaw(wanted, json::text(member.name)) == nullptr) {
        return path + "." + std::string{json::text(member.name)} + " is new: " + json::dump(member.value);
      }
    }
  }
  if (wanted.IsArray() && got.IsArray() && wanted.Size() == got.Size()) {
    for (rapidjson::SizeType i = 0; i < wanted.Size(); ++i) {
      const std::string below = path + "[" + std::to_string(i) + "]";
      if (std::string found = difference(wanted[i], got[i], below); !found.empty()) return found;
    }
  }
  return path + ": wanted " + json::dump(wanted) + ", got " + json::dump(got);
}

std::string nameOfChild(const Child& child) {
  return std::string{json::findText(&child.object, "kind")} + " " + std::string{nameOf(child.object)};
}

std::string textOf(const Errors& errors) {
  std::string text;
  for (const auto& error : errors) text += error.message() + "\n";
  return text;
}

std::string difference(const Children& wanted, const Children& got) {
  for (std::size_t i = 0; i < std::min(wanted.items.size(), got.items.size()); ++i) {
    const Child& a = wanted.items[i];
    const Child& b = got.items[i];
    if (nameOfChild(a) != nameOfChild(b)) return nameOfChild(b) + " in place of " + nameOfChild(a);
    if (a.service != b.service) return nameOfChild(a) + " is of service " + b.service + ", not " + a.service;
    if (std::string found = difference(compared(a), compared(b), nameOfChild(a)); !found.empty())
      return found;
  }
  if (wanted.items.size() > got.items.size())
    return nameOfChild(wanted.items[got.items.size()]) + " is missing";
  if (wanted.items.size() < got.items.size()) return nameOfChild(got.items[wanted.items.size()]) + " is new";
  if (textOf(wanted.errors) != textOf(got.errors)) {
    return "errors:\nwanted " + textOf(wanted.errors) + "got    " + textOf(got.errors);
  }
  return {};
}

void requireSame(const char* what, std::uint64_t seed, const Children& wanted, const Children& got,
                 const Value& object) {
  const std::string found = difference(wanted, got);
  if (!found.empty()) FAIL(what << ", seed " << seed << "\n" << found << "\nof " << json::dump(object));
}

Value schemaDefaults(const Value& object, Allocator& allocator) {
  Value made = json::copy(object, allocator);
  const schema::Node* node =
      schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  schema::applySchemaDefaults(*node->member("spec"), *json::find(made, "spec"), allocator);
  return made;
}

template <class Check>
void forEachObject(Taste taste, std::uint64_t count, Check&& check) {
  std::vector<char> memory(std::size_t{1} << 22U);
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Allocator allocator{memory.data(), memory.size()};
    GraphGenerator generator{seed, allocator, taste};
    Value manifest = seed % 4 == 3 ? generator.component() : generator.graph();
    // An object must have a name to be rendered.
    Value& metadata = *json::find(manifest, "metadata");
    if (json::remove(metadata, "generateName")) {
      json::set(metadata, "name", json::string("made", allocator), allocator);
    }
    check(seed, generator, manifest, allocator);
  }
}

TEST_CASE("law 4: an object has the same children before admission, after it and after renewed defaults") {
  std::uint64_t children = 0;
  std::uint64_t clean = 0;
  forEachObject(
      Taste::Odd, objects(),
      [&](std::uint64_t seed, GraphGenerator& generator, const Value& manifest, Allocator& allocator) {
        const Operator& op = operatorOf(seed);
        const Value stored = op.admit(schemaDefaults(manifest, allocator), nullptr, allocator);
        const Children wanted = op.render(stored);
        children += wanted.items.size();
        clean += wanted.errors.empty() ? 1 : 0;
        const Value bypassed = stamped(schemaDefaults(manifest, allocator), stored, allocator);
        requireSame("bypassed admission", seed, op.render(bypassed), wanted, manifest);

        Value again = json::copy(stored, allocator);
        annotate(again, api::annotation::kRedefault, "1", allocator);
        const Value derived = op.admit(again, &stored, allocator);
        requireSame("derived afresh", seed, op.render(derived), wanted, manifest);

        if (seed / 12 % 2 != 0) return;  // half of the objects, to save time
        Value edited = json::copy(stored, allocator);
        Value written = json::copy(bypassed, allocator);
        GraphGenerator twin = generator;
        generator.edit(edited);
        twin.edit(written);
        const Value moved = op.admit(edited, &stored, allocator);
        written = stamped(schemaDefaults(written, allocator), moved, allocator);
        requireSame("edited", seed, op.render(written), op.render(moved), moved);
      });
  CHECK(children > objects());
  CHECK(clean > objects() / 4);
}

TEST_CASE("an object that admission defaulted and accepted is accepted again") {
  std::uint64_t accepted = 0;
  forEachObject(Taste::Plausible, objects() / 4,
                [&](std::uint64_t seed, GraphGenerator&, const Value& manifest, Allocator& allocator) {
                  const Operator& op = operatorOf(seed);
                  const auto requireAccepted = [&](const char* what, const Value& object, const Value* old) {
                    const auto errors = op.refusals(object, old);
                    if (!errors.empty())
                      FAIL(what << ", seed " << seed << "\n" << textOf(errors) << json::dump(object));
                  };
                  const Value stored = op.admit(manifest, nullptr, allocator);
                  const bool good = op.refusals(stored, nullptr).empty();
                  const Value bypassed = stamped(schemaDefaults(manifest, allocator), stored, allocator);
                  if (op.refusals(bypassed, nullptr).empty() != good) {
                    FAIL("admission changes the verdict, seed "
                         << seed << "\n"
                         << textOf(op.refusals(bypassed, nullptr)) << "admitted:\n"
                         << textOf(op.refusals(stored, nullptr)) << json::dump(manifest));
                  }
                  if (!good) return;
                  ++accepted;
                  requireAccepted("UPDATE without a change", op.admit(stored, &stored, allocator), &stored);
                  const Value applied = dynamo::test::serverSideApply(stored, manifest, allocator);
                  requireAccepted("applied again", op.admit(applied, &stored, allocator), &stored);
                  Value derived = json::copy(stored, allocator);
                  annotate(derived, api::annotation::kRedefault, "1", allocator);
                  derived = op.admit(derived, &stored, allocator);
                  requireAccepted("derived afresh", derived, &stored);
                  requireAccepted("derived afresh and created elsewhere", derived, nullptr);
                  Value exported = json::copy(stored, allocator);
                  Value& metadata = json::ensureObject(exported, "metadata", allocator);
                  json::set(metadata, "name", json::string("other", allocator), allocator);
                  json::set(metadata, "namespace", json::string("elsewhere", allocator), allocator);
                  requireAccepted("exported and created under another name",
                                  op.admit(exported, nullptr, allocator), nullptr);
                });
  INFO("accepted " << accepted);
  CHECK(accepted > objects() / 40);
}

}  // namespace
}  // namespace dynamo::render

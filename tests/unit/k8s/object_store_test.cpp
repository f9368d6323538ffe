// The object cache: the fields it keeps and its indexes.
#include "common/k8s/object_store.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "common/json/build.h"
#include "common/json/parse.h"

namespace dynamo::k8s::test {
namespace {

using Change = ObjectStore::Change;

json::Document parsed(std::string_view text) {
  json::Document document;
  INFO(text);
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

std::string trimmed(std::string_view object, const KeptFields& kept) {
  return Trimmer{kept}.text(parsed(object));
}

TEST_CASE("only the kept fields of an object are stored") {
  const std::string object =
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"n","uid":"u",)"
      R"("resourceVersion":"1","generation":2,"deletionTimestamp":"t","creationTimestamp":"c","labels":{"l":"x","m":"y"},)"
      R"("annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","b":"c"},)"
      R"("ownerReferences":[{"apiVersion":"v","kind":"K","name":"o","uid":"ou","controller":true}],)"
      R"("managedFields":[{"manager":"m"}]},"spec":{"replicas":3,"template":{"a":1}},)"
      R"("status":{"conditions":[{"type":"A","message":"long"},{"type":"B"}],"replicas":null}})";
  const std::string head =
      R"({"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1","generation":2,)"
      R"("deletionTimestamp":"t",)";
  const std::string owners = R"("ownerReferences":[{"uid":"ou","controller":true}])";
  struct Row {
    KeptFields kept;
    std::string text;
  };
  const Row rows[] = {
      {{{"metadata.name"}}, head + owners + "}}"},
      {{{"metadata.ownerReferences"}},
       head +
           R"("ownerReferences":[{"apiVersion":"v","kind":"K","name":"o","uid":"ou","controller":true}]}})"},
      {{{"spec.replicas", "status.conditions.type", "status.absent"}},
       head + owners + R"(},"spec":{"replicas":3},"status":{"conditions":[{"type":"A"},{"type":"B"}]}})"},
      {{{"status"}},
       head + owners +
           R"(},"status":{"conditions":[{"type":"A","message":"long"},{"type":"B"}],"replicas":null}})"},
      {{{"spec.replicas.below"}}, head + owners + R"(},"spec":{"replicas":3}})"},
      {{{"metadata.labels.m", "metadata.annotations"}},
       head + R"("labels":{"m":"y"},"annotations":{"b":"c"},)" + owners + "}}"},
      {{{"metadata.annotations"}, true, true},
       head + R"("annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","b":"c"},)" + owners +
           R"(,"managedFields":[{"manager":"m"}]}})"},
      {{},
       head +
           R"("creationTimestamp":"c","labels":{"l":"x","m":"y"},"annotations":{"b":"c"},"ownerReferences":)"
           R"([{"apiVersion":"v","kind":"K","name":"o","uid":"ou","controller":true}]},"spec":{"replicas":3,)"
           R"("template":{"a":1}},"status":{"conditions":[{"type":"A","message":"long"},{"type":"B"}],"replicas":null}})"},
  };
  for (const Row& row : rows) CHECK(trimmed(object, row.kept) == row.text);
}

TEST_CASE("objects of unexpected types are kept as they are") {
  CHECK(trimmed(R"({"metadata":null})", {}) == R"({"metadata":null})");
  CHECK(trimmed(R"({"metadata":{"annotations":5,"name":"a"},"spec":[1]})", {}) ==
        R"({"metadata":{"annotations":5,"name":"a"},"spec":[1]})");
  CHECK(trimmed(R"({"spec":5,"status":{"a":[[{"b":1,"c":2}]]}})", {{"spec.a", "status.a.b"}}) ==
        R"({"spec":5,"status":{"a":[[{"b":1}]]}})");
  CHECK(trimmed("[]", {}) == "{}");
}

const std::vector<StoredKind> kKinds = {{"apps/v1", "Deployment", {{"spec.replicas"}}, {"graph"}},
                                        {"v1", "Service", {{"spec.type"}}, {"graph", "part"}, {}, true}};

json::Document objectOf(std::string_view apiVersion, std::string_view kind, std::string_view nameSpace,
                        std::string_view name, std::string_view owners, std::string_view labels,
                        int version = 1) {
  std::string references;
  for (std::size_t i = 0; i < owners.size(); ++i) {  // each letter is a uid
    references += fmt::format(R"({}{{"uid":"{}"}})", i == 0 ? "" : ",", owners[i]);
  }
  return parsed(fmt::format(
      R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{}","namespace":"{}","resourceVersion":"{}",)"
      R"("ownerReferences":[{}],"labels":{{{}}}}}}})",
      apiVersion, kind, name, nameSpace, version, references, labels));
}

std::string names(const ObjectStore& store, const std::vector<ObjectStore::Slot>& slots) {
  std::string text;
  for (const auto slot : slots) text += toText(store.key(slot)) + "; ";
  return text;
}

TEST_CASE("objects are found by key, owner and label") {
  ObjectStore store{kKinds};
  const auto put = [&](auto... arguments) { return store.put(objectOf(arguments...)); };
  CHECK((put("apps/v1", "Deployment", "n", "b", "x", R"("graph":"g")") == Change::Added));
  CHECK((put("apps/v1", "Deployment", "n", "a", "x", R"("graph":"g","part":"p")") == Change::Added));
  CHECK((put("v1", "Service", "n", "a", "xyx", R"("graph":"g","part":"p")") == Change::Added));
  CHECK((put("v1", "Service", "m", "a", "", R"("graph":"g")") == Change::Added));
  CHECK((put("apps/v1", "Deployment", "n", "a", "x", R"("graph":"g","part":"p")") == Change::Same));
  CHECK((put("apps/v2", "Deployment", "n", "a", "x", "") == Change::UnknownKind));
  CHECK(store.size() == 4);
  CHECK(names(store, store.ownedBy("n", "x")) == "Deployment.apps n/a; Deployment.apps n/b; Service n/a; ");
  CHECK(names(store, store.ownedBy("n", "y")) == "Service n/a; ");
  CHECK(store.ownedBy("n", "z").empty());
  CHECK(names(store, store.labelled("n", "graph", "g")) ==
        "Deployment.apps n/a; Deployment.apps n/b; Service n/a; ");
  CHECK(names(store, store.labelled("m", "graph", "g")) == "Service m/a; ");
  CHECK(names(store, store.labelled("n", "part", "p")) ==
        "Service n/a; ");  // Deployments have no index by this label
  CHECK(names(store, store.ofKind("v1", "Service")) == "Service n/a; Service m/a; ");
  CHECK(store.ofKind("v1", "Secret").empty());
  CHECK(names(store, store.ofKind("v1", "Service", "n")) == "Service n/a; ");
  CHECK(store.ofKind("v1", "Service", "o").empty());
  CHECK(store.ofKind("apps/v1", "Deployment", "n").empty());  // not listed

  CHECK((put("apps/v1", "Deployment", "n", "b", "y", R"("graph":"h")", 2) == Change::Changed));
  CHECK(names(store, store.ownedBy("n", "x")) == "Deployment.apps n/a; Service n/a; ");
  CHECK(names(store, store.ownedBy("n", "y")) == "Deployment.apps n/b; Service n/a; ");
  CHECK(names(store, store.labelled("n", "graph", "h")) == "Deployment.apps n/b; ");
  const auto slot = store.find({"apps", "v1", "Deployment", "n", "b"});
  REQUIRE(slot);
  const json::Document object = store.object(*slot);
  CHECK(json::findText(&object, "apiVersion") == "apps/v1");
  CHECK(json::findText(&object, "kind") == "Deployment");
  CHECK(json::findText(json::find(&object, "metadata"), "resourceVersion") == "2");
  CHECK_FALSE(store.find({"apps", "v1", "Deployment", "m", "b"}));
  CHECK_FALSE(store.find({"apps", "v1", "DaemonSet", "n", "b"}));

  CHECK(store.remove({"", "v1", "Service", "n", "a"}));
  CHECK_FALSE(store.remove({"", "v1", "Service", "n", "a"}));
  CHECK(names(store, store.ownedBy("n", "y")) == "Deployment.apps n/b; ");
  CHECK(store.labelled("n", "part", "p").empty());
}

TEST_CASE("names of any form are kept") {
  ObjectStore store{kKinds};
  for (const char* name : {R"(a\"b)", R"(tab\t)", "", "name", R"(\u0000)"}) {
    INFO(name);
    const json::Document object = objectOf("v1", "Service", "n", name, "", "");
    CHECK((store.put(object) == Change::Added));
    const ObjectKey key = keyOf(object);
    REQUIRE(store.find(key));
    CHECK((store.key(*store.find(key)) == key));
  }
  CHECK(store.size() == 5);
}

TEST_CASE("owner references of other namespaces, and uids that imitate terms, find nothing") {
  ObjectStore store{kKinds};
  const auto put = [&](const std::string& nameSpace, const std::string& name, const std::string& uid,
                       const std::string& labels) {
    json::Document object;
    const json::Maker make{object.GetAllocator()};
    json::Value references = make.list();
    make.push(references, make.object("uid", uid));
    static_cast<json::Value&>(object) = make.object(
        "apiVersion", "v1", "kind", "Service", "metadata",
        make.object("name", name, "namespace", nameSpace, "ownerReferences", std::move(references), "labels",
                    labels.empty() ? make.object() : make.object("graph", labels)));
    store.put(object);
  };
  const std::string nul(1, '\0');
  put("victim", "own", "x", "g");
  put("attacker", "same-uid", "x", "");
  put("", "cluster-scoped", "x", "");
  put("attacker", "label", "victim" + nul + "graph" + nul + "g", "");
  put("attacker", "label-term", "lvictim" + nul + "graph" + nul + "g", "");
  put("attacker", "owner-term", "ovictim" + nul + "x", "");
  put("attacker", "list-term", "kvictim" + nul + "v1/Service", "");
  CHECK(names(store, store.ownedBy("victim", "x")) == "Service victim/own; ");
  CHECK(names(store, store.labelled("victim", "graph", "g")) == "Service victim/own; ");
  CHECK(names(store, store.ofKind("v1", "Service", "victim")) == "Service victim/own; ");
}

TEST_CASE("the store agrees with a plain map after any changes") {
  struct Kept {
    std::string text;
    std::string owners;
  };
  ObjectStore store{kKinds};
  std::map<ObjectKey, Kept> model;
  std::mt19937 random{7};
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  for (int step = 0; step < 20000; ++step) {
    // The store mostly grows at first and shrinks at last, so the table is reallocated and slots are reused.
    const bool removes = below(20000) < static_cast<unsigned>(step);
    const ObjectKey key{"", "v1", "Service", fmt::format("n{}", below(3)), fmt::format("s{}", below(700))};
    if (removes) {
      REQUIRE(store.remove(key) == (model.erase(key) != 0));
    } else {
      std::string owners;
      for (unsigned i = below(3); i > 0; --i) owners += static_cast<char>('a' + below(20));
      const json::Document object =
          objectOf("v1", "Service", key.namespaceName, key.name, owners, "", static_cast<int>(below(1000)));
      store.put(object);
      model[key] = {Trimmer{kKinds[1].kept}.text(object), owners};
    }
    if (step % 997 != 0) continue;
    REQUIRE(store.size() == model.size());
    for (const auto& [each, kept] : model) {
      const auto slot = store.find(each);
      REQUIRE(slot);
      REQUIRE(store.text(*slot) == kept.text);
    }
    REQUIRE((store.textBytes() > model.size()));
    for (char owner = 'a'; owner < 'a' + 20; ++owner) {
      std::vector<ObjectKey> wanted;
      for (const auto& [each, kept] : model) {
        if (kept.owners.find(owner) != std::string::npos) wanted.push_back(each);
      }
      std::vector<ObjectKey> got;
      for (const char* name : {"n0", "n1", "n2"}) {
        for (const auto slot : store.ownedBy(name, std::string(1, owner))) got.push_back(store.key(slot));
      }
      REQUIRE((got == wanted));
    }
    std::vector<ObjectKey> listed;
    for (const char* name : {"n0", "n1", "n2"}) {
      for (const auto slot : store.ofKind("v1", "Service", name)) listed.push_back(store.key(slot));
    }
    REQUIRE(listed.size() == model.size());
    REQUIRE(std::equal(listed.begin(), listed.end(), model.begin(),
                       [](const ObjectKey& one, const auto& item) { return one == item.first; }));
  }
  CHECK(model.size() > 100);
  for (const auto& [each, kept] : model) REQUIRE(store.remove(each));
  CHECK(store.size() == 0);
  CHECK(store.textBytes() == 0);
}

TEST_CASE("objects that resemble each other are stored in a fraction of their size") {
  ObjectStore store{{{"v1", "Service", {}, {}, "m"}}};
  std::size_t bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    const json::Document object = parsed(fmt::format(
        R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"service-{0}","namespace":"team","uid":"{0:08x}",)"
        R"("managedFields":[{{"manager":"m","operation":"Apply","fieldsV1":{{"f:spec":{{"f:ports":{{}},)"
        R"("f:selector":{{}}}}}}}}]}},"spec":{{"selector":{{"app.kubernetes.io/name":"service-{0}"}},)"
        R"("ports":[{{"name":"http","port":8000,"targetPort":"http","protocol":"TCP"}}],"type":"ClusterIP"}}}})",
        i));
    REQUIRE(store.put(object) == Change::Added);
    bytes += json::dump(object).size();
  }
  CHECK(store.textBytes() * 5 < bytes);
  CHECK(store.dictionaries() > 0);
}

TEST_CASE("the ownership that is kept of an object") {
  ObjectStore store{{{"apps/v1", "Deployment", {{"spec.replicas"}}, {}, "m"}, {"v1", "Service", {}, {}}}};
  const auto deployment = [](std::string_view name, std::string_view entries) {
    return parsed(fmt::format(
        R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{}","managedFields":[{}]}}}})",
        name, entries));
  };
  constexpr std::string_view kOurs =
      R"({"manager":"m","operation":"Apply","fieldsV1":{"f:spec":{"f:template":{}}}})";
  constexpr std::string_view kScaled =
      R"({"manager":"hpa","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}})";
  const auto slotOf = [&](std::string_view name) {
    return *store.find({"apps", "v1", "Deployment", "", std::string{name}});
  };

  CHECK(store.put(deployment("a", kOurs)) == Change::Added);
  CHECK(store.put(deployment("b", kOurs)) == Change::Added);
  CHECK(store.put(deployment("c", "")) == Change::Added);
  CHECK(store.ownedFields(slotOf("a")) == R"({"f:spec":{"f:template":{}}})");
  CHECK(store.ownedFields(slotOf("c")).empty());
  CHECK(store.replicasOwner(slotOf("a")).empty());

  CHECK(store.put(deployment("a", kOurs)) == Change::Same);
  CHECK(store.put(deployment("a", fmt::format("{},{}", kOurs, kScaled))) == Change::Changed);
  CHECK(store.replicasOwner(slotOf("a")) == "hpa");
  CHECK(store.replicasOwner(slotOf("b")).empty());
  CHECK(store.put(deployment("c", kScaled)) == Change::Changed);
  CHECK(store.replicasOwner(slotOf("c")) == "hpa");
  CHECK(store.ownedFields(slotOf("c")).empty());
  CHECK(store.ownedFields(slotOf("a")) == R"({"f:spec":{"f:template":{}}})");

  CHECK(store.put(deployment("a", "")) == Change::Changed);
  CHECK(store.ownedFields(slotOf("a")).empty());
  CHECK(store.remove({"apps", "v1", "Deployment", "", "a"}));
  CHECK(store.ownedFields(slotOf("b")) == R"({"f:spec":{"f:template":{}}})");

  const std::string lines = R"({"metadata":{"name":"d","annotations":{"a":"1\n2"}},"spec":{"replicas":1}})";
  json::Document withLines = parsed(lines);
  auto& allocator = withLines.GetAllocator();
  json::set(withLines, "apiVersion", json::string("apps/v1", allocator), allocator);
  json::set(withLines, "kind", json::string("Deployment", allocator), allocator);
  json::set(
      *json::find(withLines, "metadata"), "managedFields",
      json::copy(*json::find(*json::find(deployment("d", kOurs), "metadata"), "managedFields"), allocator),
      allocator);
  ObjectStore whole{{{"apps/v1", "Deployment", {}, {}, "m"}}};
  CHECK(whole.put(withLines) == Change::Added);
  const auto slot = *whole.find({"apps", "v1", "Deployment", "", "d"});
  CHECK(whole.text(slot) == lines);
  CHECK(whole.ownedFields(slot) == R"({"f:spec":{"f:template":{}}})");

  CHECK(store.put(parsed(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","managedFields":[)" +
                         std::string{kOurs} + "]}}")) == Change::Added);
  CHECK(store.ownedFields(*store.find({"", "v1", "Service", "", "s"})).empty());
}

}  // namespace
}  // namespace dynamo::k8s::test

// The content of a cache after watch events, lists and own writes in any order.
#include "controller/kube/cache.h"

#include <catch2/catch.hpp>
#include <memory>

#include "common/json/parse.h"

namespace dynamo::kube::test {
namespace {

const Resource kPods{"", "v1", "pods", "Pod"};

json::Document pod(std::string_view name, std::string_view uid, std::string_view version,
                   std::string_view label = "1") {
  json::Document object;
  const std::string text = R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"n","name":")" +
                           std::string{name} + R"(","uid":")" + std::string{uid} +
                           R"(","resourceVersion":")" + std::string{version} + R"(","labels":{"l":")" +
                           std::string{label} + R"("}}})";
  REQUIRE_FALSE(json::parse(text, object));
  return object;
}

k8s::ObjectKey keyOf(std::string_view name) {
  return {"", "v1", "Pod", "n", std::string{name}};
}

struct Fixture {
  Fixture() {
    cache.onChange([this](const Change& change) {
      const std::string_view kinds[] = {"added ", "changed ", "deleted "};
      log += std::string{kinds[static_cast<int>(change.kind)]} + change.key.name;
      if (!change.writer.empty()) log += " by " + std::string{change.writer};
      log += ";";
    });
  }
  /// Returns the version of the cached object, or an empty text if it is not cached.
  std::string version(std::string_view name) const {
    const auto found = cache.find(keyOf(name));
    return found ? std::string{json::findText(json::find(found->object, "metadata"), "resourceVersion")} : "";
  }
  std::string take() { return std::exchange(log, {}); }

  Cache cache{{{"v1", "Pod", {{"metadata.labels"}}, {"l"}}}};
  Sink sink = cache.sinkFor(kPods, "", {});
  std::string log;
};

TEST_CASE("changes of a watch") {
  Fixture f;
  f.sink.listBegins();
  f.sink.present(pod("a", "ua", "5"));
  f.sink.listEnds("9");
  CHECK(f.take() == "added a;");
  f.sink.present(pod("a", "ua", "10"));
  CHECK(f.take() == "changed a;");
  f.sink.present(pod("a", "ua", "10"));
  CHECK(f.take().empty());
  f.sink.deleted(pod("a", "ua", "11"));
  CHECK(f.take() == "deleted a;");
  CHECK(f.cache.size() == 0);
  f.sink.deleted(pod("a", "ua", "11"));
  CHECK(f.take().empty());
}

TEST_CASE("a list removes objects that it does not contain") {
  Fixture f;
  f.sink.present(pod("a", "ua", "5"));
  f.sink.present(pod("b", "ub", "6"));
  f.take();
  f.sink.listBegins();
  f.sink.present(pod("b", "ub", "6"));
  f.sink.listEnds("9");
  CHECK(f.take() == "deleted a;");

  SECTION("but not objects that this process wrote after the list was made") {
    f.cache.wrote(pod("c", "uc", "12"), "w");
    CHECK(f.take() == "added c by w;");
    f.sink.listBegins();
    f.sink.listEnds("11");
    CHECK(f.take() == "deleted b;");
    CHECK(f.version("c") == "12");
  }
}

TEST_CASE("a list removes only objects that match its selector") {
  Cache cache{{{"v1", "Pod", {{"metadata.labels"}}, {}}}};
  Sink with = cache.sinkFor(kPods, "", {{{"l", LabelRequirement::Operator::Equals, "1"}}});
  Sink without = cache.sinkFor(kPods, "", {{{"l", LabelRequirement::Operator::Equals, "2"}}});
  with.present(pod("a", "ua", "1", "1"));
  without.present(pod("b", "ub", "2", "2"));
  with.listBegins();
  with.listEnds("5");
  CHECK_FALSE(cache.contains(keyOf("a")));
  CHECK(cache.contains(keyOf("b")));
}

TEST_CASE("own writes are visible immediately, and older events do not undo them") {
  Fixture f;
  f.sink.present(pod("a", "ua", "5"));
  f.take();
  f.cache.wrote(pod("a", "ua", "8", "2"), "w");
  CHECK(f.take() == "changed a by w;");
  f.sink.present(pod("a", "ua", "7"));
  CHECK(f.take().empty());
  CHECK(f.version("a") == "8");
  f.sink.present(pod("a", "ua", "8", "2"));
  CHECK(f.take().empty());
  f.sink.present(pod("a", "ua", "100"));
  CHECK(f.version("a") == "100");
}

TEST_CASE("own deletions are visible immediately") {
  Fixture f;
  f.sink.present(pod("a", "ua", "5"));
  f.take();
  f.cache.deleted(keyOf("a"), "ua", "w");
  CHECK(f.take() == "deleted a by w;");

  SECTION("an older event of the object is ignored") {
    f.sink.present(pod("a", "ua", "6"));
    CHECK(f.take().empty());
    f.sink.deleted(pod("a", "ua", "7"));
    CHECK(f.take().empty());
  }
  SECTION("a new object with the same name is not ignored") {
    f.sink.present(pod("a", "other", "9"));
    CHECK(f.take() == "added a;");
    f.sink.deleted(pod("a", "ua", "7"));
    CHECK(f.version("a") == "9");
  }
  SECTION("a later list ends the wait for the event") {
    f.sink.listBegins();
    f.sink.listEnds("20");
    f.sink.present(pod("a", "ua", "21"));
    CHECK(f.take() == "added a;");
  }
  SECTION("a deletion that a watch has already reported needs no further event") {
    f.cache.deleted(keyOf("a"), "ua", "w");
    f.sink.deleted(pod("a", "ua", "7"));
    f.cache.deleted(keyOf("a"), "ua", "w");
    f.sink.present(pod("a", "ua", "8"));
    CHECK(f.take() == "added a;");
  }
}

TEST_CASE("the deletion of an object that has been recreated is ignored") {
  Fixture f;
  f.sink.present(pod("a", "old", "5"));
  f.cache.wrote(pod("a", "new", "9"), "w");
  f.take();
  f.sink.deleted(pod("a", "old", "7"));
  CHECK(f.take().empty());
  CHECK(f.version("a") == "9");
}

TEST_CASE("an object that moves from one watch to another stays in the cache") {
  Cache cache{{{"v1", "Pod", {{"metadata.labels"}}, {"l"}}}};
  const Sink first = cache.sinkFor(kPods, "", {{hasLabel("a")}});
  const Sink second = cache.sinkFor(kPods, "", {{lacksLabel("a")}});
  first.present(pod("a", "ua", "99"));
  // The API server reports that the object has left the first selector as a deletion, with the version of the
  // change.
  SECTION("the second watch reports it first") {
    second.present(pod("a", "ua", "100"));
    first.deleted(pod("a", "ua", "100"));
    CHECK(cache.contains(keyOf("a")));
    second.deleted(pod("a", "ua", "101"));
    CHECK_FALSE(cache.contains(keyOf("a")));
  }
  SECTION("the first watch reports it first") {
    first.deleted(pod("a", "ua", "100"));
    second.present(pod("a", "ua", "100"));
    CHECK(cache.contains(keyOf("a")));
  }
  SECTION("this process has written a later version") {
    cache.wrote(pod("a", "ua", "102"), "w");
    first.deleted(pod("a", "ua", "100"));
    CHECK(cache.contains(keyOf("a")));
  }
}

TEST_CASE("the reply to a write arrives after the event of the deletion") {
  Fixture f;
  f.sink.listBegins();
  f.sink.listEnds("3");

  SECTION("the watch has reported both the write and the deletion") {
    f.sink.present(pod("a", "ua", "5"));
    f.sink.deleted(pod("a", "ua", "7"));
    f.take();
    f.cache.wrote(pod("a", "ua", "5"), "w");
    CHECK(f.take().empty());
    f.cache.wrote(pod("a", "ua", "6"), "w");
    CHECK(f.take().empty());
    CHECK(f.cache.size() == 0);
    // An object that was created after the deletion.
    f.cache.wrote(pod("a", "other", "8"), "w");
    CHECK(f.take() == "added a by w;");
  }
  SECTION("a list without the object is newer") {
    f.sink.listBegins();
    f.sink.listEnds("9");
    f.cache.wrote(pod("a", "ua", "8"), "w");
    CHECK(f.take().empty());
    f.cache.wrote(pod("a", "ua", "10"), "w");
    CHECK(f.take() == "added a by w;");
  }
  SECTION("during a list, only the versions before it count") {
    f.sink.listBegins();
    f.sink.present(pod("b", "ub", "8"));
    f.take();
    f.cache.wrote(pod("a", "ua", "6"), "w");
    CHECK(f.take() == "added a by w;");
  }
  SECTION("watches of other objects do not matter") {
    Sink other = f.cache.sinkFor(kPods, "elsewhere", {});
    other.present(pod("x", "ux", "50"));
    Sink labelled = f.cache.sinkFor(kPods, "", {{{"l", LabelRequirement::Operator::Equals, "2"}}});
    labelled.present(pod("y", "uy", "50", "2"));
    f.take();
    f.cache.wrote(pod("a", "ua", "10"), "w");
    CHECK(f.take() == "added a by w;");
  }
}

TEST_CASE("changes of an object that is being written wait for the reply") {
  Fixture f;
  f.sink.present(pod("a", "ua", "5"));
  f.take();
  auto writing = std::make_unique<Cache::Writing>(f.cache, keyOf("a"));

  SECTION("the event of the write is not a change by somebody else") {
    f.sink.present(pod("a", "ua", "6", "2"));
    CHECK(f.take().empty());
    CHECK(f.version("a") == "5");
    f.cache.wrote(pod("a", "ua", "6", "2"), "w");
    CHECK(f.take() == "changed a by w;");
    writing.reset();
    CHECK(f.take().empty());
  }
  SECTION("changes by others follow, also if the write fails") {
    f.sink.present(pod("a", "ua", "6", "2"));
    f.sink.present(pod("a", "ua", "7", "3"));
    f.sink.present(pod("b", "ub", "8"));
    CHECK(f.take() == "added b;");
    writing.reset();
    CHECK(f.take() == "changed a;changed a;");
    CHECK(f.version("a") == "7");
  }
  SECTION("a change by somebody else before the reply is not lost") {
    f.sink.present(pod("a", "ua", "6", "2"));
    f.sink.present(pod("a", "ua", "7", "3"));
    f.cache.wrote(pod("a", "ua", "6", "2"), "w");
    CHECK(f.take() == "changed a by w;");
    writing.reset();
    CHECK(f.take() == "changed a;");
    CHECK(f.version("a") == "7");
  }
  SECTION("the deletion of the object before the reply is not lost") {
    f.sink.present(pod("a", "ua", "6", "2"));
    f.sink.deleted(pod("a", "ua", "7", "2"));
    f.cache.wrote(pod("a", "ua", "6", "2"), "w");
    writing.reset();
    CHECK(f.take() == "changed a by w;deleted a;");
  }
  SECTION("a list without the object is newer than the changes that wait and the reply") {
    f.sink.present(pod("a", "ua", "6", "2"));
    f.sink.listBegins();
    f.sink.listEnds("8");
    CHECK(f.take() == "deleted a;");
    f.cache.wrote(pod("a", "ua", "6", "2"), "w");
    writing.reset();
    CHECK(f.take().empty());
    CHECK(f.cache.size() == 0);
  }
  SECTION("the event of an own deletion is not a change by somebody else") {
    f.sink.deleted(pod("a", "ua", "6"));
    f.cache.deleted(keyOf("a"), "ua", "w");
    CHECK(f.take() == "deleted a by w;");
    writing.reset();
    CHECK(f.take().empty());
    f.sink.present(pod("a", "ub", "9"));
    CHECK(f.take() == "added a;");
  }
  SECTION("two writes at once end with the later one") {
    auto other = std::make_unique<Cache::Writing>(f.cache, keyOf("a"));
    f.sink.present(pod("a", "ua", "6", "2"));
    writing.reset();
    CHECK(f.take().empty());
    other.reset();
    CHECK(f.take() == "changed a;");
  }
}

TEST_CASE("the event of a creation arrives before the reply") {
  Fixture f;
  {
    const Cache::Writing writing{f.cache, keyOf("a")};
    f.sink.present(pod("a", "ua", "5"));
    f.cache.wrote(pod("a", "ua", "5"), "w");
    CHECK(f.take() == "added a by w;");
  }
  CHECK(f.take().empty());
}

// Decision ctl-Q61.
TEST_CASE("after a restore of etcd the cache has what the API server lists") {
  Fixture f;
  f.sink.listBegins();
  for (const char* name : {"older", "same", "gone", "written", "deleted"})
    f.sink.present(pod(name, name, "50"));
  f.sink.listEnds("60");
  f.cache.wrote(pod("created", "created", "70"), "w");
  f.cache.deleted(keyOf("deleted"), "deleted", "w");
  f.take();
  const auto relist = [&] {
    f.sink.wentBack();
    f.sink.listBegins();
    f.sink.present(pod("older", "older", "40", "2"));
    f.sink.present(pod("same", "same", "50"));
    f.sink.present(pod("deleted", "deleted", "50"));
    f.sink.present(pod("written", "written", "45", "2"));
    f.sink.listEnds("50");
  };
  SECTION("objects with later versions are replaced or removed, and a deletion is undone") {
    relist();
    CHECK(f.version("older") == "40");
    CHECK(f.version("same") == "50");
    CHECK(f.version("deleted") == "50");
    CHECK(f.version("gone").empty());
    CHECK(f.version("created").empty());
    CHECK(f.take().find("changed older;") == 0);
    // What follows is compared with the restored versions again.
    f.sink.present(pod("older", "older", "51"));
    CHECK(f.version("older") == "51");
    f.sink.present(pod("older", "older", "50"));
    CHECK(f.version("older") == "51");
    f.cache.wrote(pod("new", "new", "52"), "w");
    CHECK(f.version("new") == "52");
  }
  SECTION("an object that is being written takes the listed version afterwards") {
    {
      const Cache::Writing writing{f.cache, keyOf("written")};
      relist();
      CHECK(f.version("written") == "50");
    }
    CHECK(f.version("written") == "45");
  }
  SECTION("without the restore an older list changes nothing") {
    f.sink.listBegins();
    f.sink.present(pod("older", "older", "40", "2"));
    f.sink.listEnds("49");
    CHECK(f.version("older") == "50");
    CHECK(f.version("gone") == "50");
  }
}

TEST_CASE("resource versions are compared as numbers") {
  CHECK(isOlder("9", "10"));
  CHECK_FALSE(isOlder("10", "9"));
  CHECK_FALSE(isOlder("10", "10"));
  CHECK(isOlder("18446744073709551616", "18446744073709551617"));
  CHECK_FALSE(isOlder("", "1"));
  CHECK_FALSE(isOlder("a", "b"));
}

TEST_CASE("label selectors") {
  const LabelSelector selector{
      {hasLabel("a"), lacksLabel("b"), {"c", LabelRequirement::Operator::Equals, "d"}}};
  CHECK(selector.text() == "a,!b,c=d");
  const auto matches = [&](std::string_view labels) {
    json::Document object;
    REQUIRE_FALSE(json::parse(R"({"metadata":{"labels":)" + std::string{labels} + "}}", object));
    return selector.matches(object);
  };
  CHECK(matches(R"({"a":"","c":"d"})"));
  CHECK_FALSE(matches(R"({"c":"d"})"));
  CHECK_FALSE(matches(R"({"a":"","b":"","c":"d"})"));
  CHECK_FALSE(matches(R"({"a":"","c":"e"})"));
  CHECK(LabelSelector{}.matches(json::Document{rapidjson::kObjectType}));
}

}  // namespace
}  // namespace dynamo::kube::test

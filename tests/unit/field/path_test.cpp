// Field paths: printing, comparison and lookup.

#include "common/field/path.h"

#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "support.h"

namespace dynamo::field::test {
namespace {

using Kind = Segment::Kind;

Path pathOf(const std::vector<Segment>& segments) {
  Path made;
  for (const Segment& segment : segments) made.append(segment);
  return made;
}

template <typename P>
concept HasView = requires(P&& path) { std::forward<P>(path).view(); };
template <typename P>
concept HasChild = requires(P&& at) { std::forward<P>(at) / Members{std::string_view{"x"}}; };

TEST_CASE("a view of a temporary path and a child of a temporary place do not compile") {
  STATIC_REQUIRE(HasView<const Path&>);
  STATIC_REQUIRE_FALSE(HasView<Path>);
  STATIC_REQUIRE(std::is_constructible_v<At, const Path&, Members>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<At, Path, Members>);
  STATIC_REQUIRE(HasChild<const At&>);
  STATIC_REQUIRE_FALSE(HasChild<At>);
}

TEST_CASE("paths are printed in the two forms of API servers") {
  struct Row {
    std::vector<Segment> segments;
    std::string bracketed;
    std::string dotted;
  };
  const Row rows[] = {
      {{}, "", ""},
      {{{Kind::Member, "spec"}}, "spec", "spec"},
      {{{Kind::Member, "spec"}, {Kind::Key, "a"}, {Kind::Member, "b"}}, "spec[a].b", "spec.a.b"},
      {{{Kind::Member, "a"}, {Kind::Index, {}, 0}, {Kind::Index, {}, 12}}, "a[0][12]", "a[0][12]"},
      {{{Kind::Index, {}, 3}, {Kind::Member, "a"}}, "[3].a", "[3].a"},
      {{{Kind::Key, "a"}}, "[a]", "a"},
      {{{Kind::Member, "m"}, {Kind::Key, ""}, {Kind::Key, ""}}, "m[][]", "m.."},
      {{{Kind::Member, "m"}, {Kind::Member, ""}}, "m.", "m."},
      {{{Kind::Member, "m"}, {Kind::Key, "a]b"}, {Kind::Member, "c"}}, "m[a]b].c", "m.a]b.c"},
      {{{Kind::Member, "m"}, {Kind::Key, "a].c"}}, "m[a].c]", "m.a].c"},
      {{{Kind::Member, "m"}, {Kind::Key, "["}, {Kind::Key, "]"}}, "m[[][]]", "m.[.]"},
      {{{Kind::Member, "m"}, {Kind::Key, "nvidia.com/x"}}, "m[nvidia.com/x]", "m.nvidia.com/x"},
      {{{Kind::Member, "m"}, {Kind::Key, "0"}}, "m[0]", "m.0"},
      {{{Kind::Member, "m"}, {Kind::Key, "\"q\"\n\x01"}}, "m[\"q\"\n\x01]", "m.\"q\"\n\x01"},
      {{{Kind::Member, "m"}, {Kind::Key, {"\0x", 2}}}, {"m[\0x]", 5}, {"m.\0x", 4}},
      {{{Kind::Member, "m"}, {Kind::Key, "\xC3\xA9"}}, "m[\xC3\xA9]", "m.\xC3\xA9"},
      {{{Kind::Member, "a.b"}, {Kind::Member, "c"}}, "a.b.c", "a.b.c"},
  };
  for (const Row& row : rows) {
    INFO(row.bracketed);
    Path made = pathOf(row.segments);
    CHECK(made.text() == row.bracketed);
    CHECK(made.printKeys(Keys::Dotted).text() == row.dotted);
    const auto [at, segments] = std::pair{made.view().begin(), made.view()};
    CHECK(std::vector<Segment>(at, segments.end()) == row.segments);
    CHECK(made.empty() == row.segments.empty());
  }
}

TEST_CASE("dots separate members in literals only; a runtime name is one member") {
  const std::string_view name = "a.b";
  CHECK(Path{"spec.a"} == pathOf({{Kind::Member, "spec"}, {Kind::Member, "a"}}));
  CHECK(Path{"spec"} / "a.b" / "c" ==
        pathOf({{Kind::Member, "spec"}, {Kind::Member, "a"}, {Kind::Member, "b"}, {Kind::Member, "c"}}));
  CHECK(Path{"spec"} / name == pathOf({{Kind::Member, "spec"}, {Kind::Member, "a.b"}}));
  CHECK(Path{"spec"} / Members::dotted(name) == Path{"spec.a.b"});
  CHECK((Path{"spec.l"}[7] / "x").key("k").text() == "spec.l[7].x[k]");
}

TEST_CASE("At builds the same paths without printing them") {
  const Path base = Path{"spec.services"}.key("a]b");
  const At service = base;
  const At list = service / "mounts.list";
  const At item = list[2];
  const At labels = item / "labels";
  struct Row {
    Path path;
    std::string_view text;
  };
  const Row rows[] = {
      {At{}.path(), ""},
      {service.path(), "spec.services[a]b]"},
      {At(base, "replicas").path(), "spec.services[a]b].replicas"},
      {list.path(), "spec.services[a]b].mounts.list"},
      {item.path(), "spec.services[a]b].mounts.list[2]"},
      {labels.key("k.e/y").path(), "spec.services[a]b].mounts.list[2].labels[k.e/y]"},
      {labels.key("k").path(Keys::Dotted), "spec.services.a]b.mounts.list[2].labels.k"},
  };
  for (const Row& row : rows) CHECK(row.path.text() == row.text);
  CHECK(labels.path() == ((base / "mounts.list")[2] / "labels"));
  CHECK(At{}.isRoot());
  CHECK_FALSE(service.isRoot());
  CHECK_FALSE(At{"spec"}.isRoot());
  CHECK_FALSE(At{std::string_view{}}.isRoot());
}

TEST_CASE("paths are equal when they name the same value") {
  struct Row {
    Path a, b;
    bool equal;
  };
  const Path keys = Path{"m"};
  const Row rows[] = {
      {{}, {}, true},
      {{}, keys, false},
      {keys.key("k"), Path{"m.k"}, true},
      {keys.key("k"), std::move(keys.key("k").printKeys(Keys::Dotted)), true},
      {keys.key("0"), keys[0], false},
      {keys.key("a].b"), keys.key("a") / "b", false},
      {keys.key("a.b"), Path{"m.a.b"}, false},
      {keys.key(""), keys, false},
      {keys[1], keys[10], false},
  };
  for (const Row& row : rows) {
    INFO(row.a.text() << " " << row.b.text());
    CHECK((row.a == row.b) == row.equal);
    CHECK((row.b == row.a) == row.equal);
    CHECK(((row.a <=> row.b) == 0) == row.equal);
  }
}

TEST_CASE("a path is within its ancestors by segments, not by text") {
  struct Row {
    Path path, ancestor;
    const char* below;  ///< nullptr: not within the ancestor
  };
  const Path services{"spec.services"};
  const Row rows[] = {
      {services.key("a") / "replicas", services.key("a"), "replicas"},
      {services.key("a"), services.key("a"), ""},
      {services.key("a"), {}, "spec.services[a]"},
      {services.key("ab"), services.key("a"), nullptr},
      {services.key("a].x"), services.key("a"), nullptr},
      {Path{"spec.services2"}, services, nullptr},
      {services, services.key("a"), nullptr},
      {services[0], services.key("0"), nullptr},
  };
  for (const Row& row : rows) {
    INFO(row.path.text() << " " << row.ancestor.text());
    CHECK(row.path.isWithin(row.ancestor) == (row.below != nullptr));
    if (row.below == nullptr) continue;
    const PathView below = row.path.view().below(row.ancestor);
    CHECK(below.text() == row.below);
    CHECK(row.path.view().before(below) == row.ancestor.view());
  }
}

TEST_CASE("a path is moved to another ancestor and keeps its form") {
  Path field = path("spec.a[k].b");
  field.printKeys(Keys::Dotted);
  CHECK(field.rebase(path("spec.a"), path("x[0]")).text() == "x[0].k.b");
  CHECK(field.prepend(path("y.z")).text() == "y.z.x[0].k.b");
  CHECK(field.view().back().name == "b");
}

TEST_CASE("values by path") {
  const json::Document tree =
      object(R"({"spec":{"a":[{"b":1},{"b":null}],"m":{"k.e/y":2,"":3,"k":4,"a.b":{"c":6},"a]b":{"c":7},)"
             R"("a]":{"c":8},"x].c":9,"x":{"c":10},"0":11,"a":{"b":{"c":12}}}},"n":null,"":{"x":5}})");
  const Path map{"spec.m"};
  struct Row {
    Path path;
    const char* json;  ///< nullptr: no value
  };
  const Row rows[] = {
      {path("spec.a[0].b"), "1"},
      {path("spec.a[1].b"), "null"},
      {path("spec.a[1]"), R"({"b":null})"},
      {path("spec.a[2]"), nullptr},
      {path("spec.a[-1]"), nullptr},
      {path("spec.a[]"), nullptr},
      {path("spec.a[4294967295]"), nullptr},
      {path("spec.a.b"), nullptr},
      {map.key("k.e/y"), "2"},
      {map.key("k"), "4"},
      {map / "k", "4"},
      {map / "k.deeper", nullptr},
      {map.key(""), "3"},
      {map.key("a.b") / "c", "6"},
      {map / "a.b.c", "12"},
      {map.key("a]b") / "c", "7"},
      {map.key("a]") / "c", "8"},
      {map.key("x") / "c", "10"},
      {map.key("x].c"), "9"},
      {map.key("0"), "11"},
      {map[0], nullptr},
      {path("n[0]"), nullptr},
      {path("n"), "null"},
      {path("n.x"), nullptr},
      {path("absent"), nullptr},
      {Path{std::string_view{}} / "x", "5"},
  };
  for (const Row& row : rows) {
    INFO(row.path.text());
    const json::Value* value = valueAt(tree, row.path);
    CHECK((value == nullptr ? "(none)" : json::dump(*value)) ==
          (row.json == nullptr ? std::string{"(none)"} : std::string{row.json}));
  }
  CHECK(valueAt(tree, Path{}) == &tree);
}

TEST_CASE("segments with any bytes survive a round trip") {
  std::mt19937 random{7};
  const auto upTo = [&](std::size_t most) { return static_cast<std::size_t>(random() % (most + 1)); };
  const std::string_view bytes{"ab.[]\"\\\0\n\x7F\xC3\xA9/", 13};
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> names(upTo(5));
    std::vector<Segment> segments;
    for (std::string& name : names) {
      for (std::size_t i = upTo(6); i > 0; --i) name += bytes[upTo(bytes.size() - 1)];
      const auto kind = static_cast<Kind>(upTo(2));
      if (kind == Kind::Index) {
        segments.push_back({kind, {}, upTo(100000)});
      } else {
        segments.push_back({kind, name});
      }
    }
    const Path made = pathOf(segments);
    std::vector<Segment> read;
    for (const Segment segment : made.view()) read.push_back(segment);
    REQUIRE(read == segments);
    for (std::size_t i = 0; i < read.size(); ++i) REQUIRE(read[i].kind == segments[i].kind);
    // Without separators in keys and names, the printed path is the literal of the tests.
    const bool plain = std::all_of(segments.begin(), segments.end(), [](const Segment& each) {
      return each.isIndex() ||
             (!each.name.empty() && each.name.find_first_of(".[]") == std::string_view::npos);
    });
    if (plain) REQUIRE(path(made.text()) == made);
  }
}

}  // namespace
}  // namespace dynamo::field::test

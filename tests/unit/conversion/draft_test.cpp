// Views and drafts: a draft refers to values of its source and copies those that it changes.

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "common/conversion/draft.h"
#include "common/json/parse.h"

namespace dynamo::conversion {
namespace {

json::Document document(const char* text) {
  json::Document made;
  if (const auto error = json::parse(text, made)) FAIL(error->message());
  return made;
}

TEST_CASE("a draft changes its own members and not the values that it refers to") {
  const json::Document source = document(R"({"a":{"b":[1,{"c":"text"}]},"d":"short","e":null})");
  const std::string before = json::dump(source);
  json::Allocator allocator;
  Draft draft{View{&source}};
  CHECK(draft.view().isSame(&source));

  draft.own(allocator);
  CHECK_FALSE(draft.view().isSame(&source));
  CHECK(equal(draft.view(), &source));
  Draft& a = draft.ensureObject("a", allocator);
  a.set("f", keep(json::Value{4}, allocator), allocator);
  Draft* b = a.findRaw("b");
  REQUIRE(b != nullptr);
  b->own(allocator);
  b->item(1).own(allocator);
  b->item(1).set("c", keep(json::Value{2}, allocator), allocator);
  b->push(keep(json::Value{3}, allocator), allocator);
  b->erase(0);
  draft.remove("d");
  draft.remove("not there");
  draft.ensureObject("e", allocator);
  draft.ensureObject("g", allocator);
  const std::string after = R"({"a":{"b":[{"c":2},3],"f":4},"e":{},"g":{}})";
  CHECK(dump(draft.view()) == after);
  CHECK(json::dump(toValue(draft.view(), allocator)) == after);
  CHECK(json::dump(source) == before);
}

TEST_CASE("a draft grows beyond its initial capacity") {
  json::Allocator allocator;
  Draft list = Draft::list(allocator, 0);
  Draft object = Draft::object(allocator, 1);
  std::string items;
  for (int i = 0; i < 100; ++i) {
    list.push(keep(json::Value{i}, allocator), allocator);
    items += (items.empty() ? "" : ",") + std::to_string(i);
  }
  object.add("list", std::move(list), allocator);
  object.add("more", View{}.find("nothing") ? Draft{} : Draft::object(allocator), allocator);
  CHECK(dump(object.view()) == R"({"list":[)" + items + R"(],"more":{}})");
}

TEST_CASE("only objects and lists that a draft owns can be changed") {
  const json::Document source = document(R"({"a":1})");
  json::Allocator allocator;
  Draft shared{View{&source}};
  CHECK_THROWS_AS(shared.remove("a"), std::logic_error);
  CHECK_THROWS_AS(shared.set("a", Draft{}, allocator), std::logic_error);
  const json::Document number = document("7");
  Draft scalar{View{&number}};
  scalar.own(allocator);  // nothing to own
  CHECK(scalar.view().isSame(&number));
  CHECK_THROWS_AS(scalar.push(Draft{}, allocator), std::logic_error);
}

TEST_CASE("a view of a draft equals a view of the same value") {
  const char* text = GENERATE(R"({})", R"([])", R"({"a":null,"b":"","c":{"d":true}})", R"([1,[2],"x"])");
  const json::Document source = document(text);
  json::Allocator allocator;
  Draft draft{View{&source}};
  draft.own(allocator);
  const View made = draft.view();
  const View given{&source};
  CAPTURE(text);
  CHECK(made);
  CHECK(made.value() == nullptr);
  CHECK(made.isObject() == given.isObject());
  CHECK(made.isList() == given.isList());
  CHECK(made.size() == given.size());
  CHECK_FALSE(made.isNull());
  CHECK(made.text().empty());
  CHECK_FALSE(made.boolean());
  for (const char* name : {"a", "b", "c", "absent"}) {
    CHECK(made.findRaw(name).isSame(given.findRaw(name)));
    CHECK(made.find(name).isSame(given.find(name)));
    CHECK(made.findObject(name).isSame(given.findObject(name)));
  }
  CHECK(equal(made, given));
  CHECK(equal(given, made));
  CHECK(dump(made) == text);
}

TEST_CASE("equality of views is that of JSON values") {
  struct Row {
    const char* left;
    const char* right;
    bool same;
  };
  const Row row = GENERATE(values<Row>({
      {R"({"a":1,"b":2})", R"({"b":2,"a":1.0})", true},
      {R"({"a":1,"b":2})", R"({"a":1,"c":2})", false},
      {R"({"a":1})", R"({"a":1,"b":2})", false},
      {R"({"a":null})", R"({"b":null})", false},
      {R"([1,2])", R"([1,2])", true},
      {R"([1,2])", R"([2,1])", false},
      {R"([])", R"({})", false},
      {R"({})", R"(null)", false},
  }));
  const json::Document left = document(row.left);
  const json::Document right = document(row.right);
  json::Allocator allocator;
  Draft madeLeft{View{&left}};
  Draft madeRight{View{&right}};
  madeLeft.own(allocator);
  madeRight.own(allocator);
  CAPTURE(row.left, row.right);
  CHECK(equal(View{&left}, View{&right}) == row.same);
  CHECK(equal(madeLeft.view(), View{&right}) == row.same);
  CHECK(equal(View{&left}, madeRight.view()) == row.same);
  CHECK(equal(madeLeft.view(), madeRight.view()) == row.same);
  CHECK_FALSE(equal(View{}, madeLeft.view()));
  CHECK(equal(View{}, View{}));
}

}  // namespace
}  // namespace dynamo::conversion

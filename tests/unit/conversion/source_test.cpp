// A conversion only reads its source. In these tests the source is in read-only memory. A write to it,
// directly or through the converted object, ends the program.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/json/parse.h"
#include "tests/unit/conversion/generator.h"

namespace dynamo {
namespace {

using json::Allocator;
using json::Value;

constexpr std::uint64_t kObjects = 2000;

/// Memory pages that can be made read-only.
class Pages {
 public:
  Pages() : start_(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (start_ == MAP_FAILED) throw std::bad_alloc{};
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(start_, kSize); }

  void* start() const { return start_; }
  static std::size_t size() { return kSize; }
  void protect(int access) const {
    if (::mprotect(start_, kSize, access) != 0) throw std::runtime_error{"mprotect"};
  }

 private:
  static constexpr std::size_t kSize = std::size_t{4} << 20U;
  void* start_;
};

/// A read-only value. The value, its members and the texts of its strings are on read-only pages.
class ReadOnly {
 public:
  template <class Make>
  explicit ReadOnly(const Make& make) : pages_(), allocator_(pages_.start(), Pages::size()) {
    const std::size_t room = allocator_.Capacity();
    value_ = new (allocator_.Malloc(sizeof(Value))) Value{make(allocator_)};
    if (allocator_.Capacity() != room) throw std::runtime_error{"the value needs more pages"};
    pages_.protect(PROT_READ);
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  ~ReadOnly() { pages_.protect(PROT_READ | PROT_WRITE); }

  /// Not const, so a callee could try to write.
  Value& value() { return *value_; }

 private:
  Pages pages_;
  Allocator allocator_;
  Value* value_ = nullptr;
};

Value parsed(std::string_view text, Allocator& allocator) {
  json::Document document{&allocator};
  if (const auto error = json::parse(text, document)) FAIL(error->message() << "\n" << text);
  return std::move(static_cast<Value&>(document));
}

/// Changes every member.
void overwrite(Value& value, Allocator& allocator) {
  if (value.IsObject()) {
    for (auto& member : value.GetObject()) {
      overwrite(member.value, allocator);
      member.name.SetString("name", allocator);
    }
    value.AddMember("one", "more", allocator);
  } else if (value.IsArray()) {
    for (Value& item : value.GetArray()) overwrite(item, allocator);
    value.PushBack("one more", allocator);
  } else {
    value.SetString("another", allocator);
  }
}

/// The object in the version, as text.
std::string converted(Value& source, std::string_view version) {
  Allocator allocator;
  conversion::View view;
  REQUIRE_FALSE(conversion::convertDgdr(source, version, view, allocator));
  const std::string text = conversion::dump(view);

  Value value;
  REQUIRE_FALSE(conversion::convertDgdr(source, version, value, allocator));
  CHECK(json::dump(value) == text);
  overwrite(value, allocator);
  CHECK(json::dump(value) != text);
  return text;
}

TEST_CASE("a conversion and changes of its result leave the source as it is") {
  std::uint64_t held = 0;
  for (std::uint64_t seed = 0; seed < kObjects; ++seed, ++held) {
    const bool alpha = seed % 2 == 0;
    const std::string_view own = alpha ? api::kV1alpha1 : api::kV1beta1;
    const std::string_view other = alpha ? api::kV1beta1 : api::kV1alpha1;
    CAPTURE(seed);
    ReadOnly source{[&](Allocator& allocator) {
      test::Generator generator{seed, allocator};
      return alpha ? generator.alpha() : generator.beta();
    }};
    const std::string before = json::dump(source.value());
    const std::string there = converted(source.value(), other);
    CHECK(converted(source.value(), own) == before);  // the object has this version already
    CHECK(json::dump(source.value()) == before);
    // Restores fields from annotations.
    ReadOnly stored{[&](Allocator& allocator) { return parsed(there, allocator); }};
    const std::string back = converted(stored.value(), own);
    CHECK(json::dump(stored.value()) == there);
    CHECK_FALSE(back.empty());
  }
  CHECK(held == kObjects);
}

TEST_CASE("writing to a read-only source ends the process") {
  ReadOnly source{[](Allocator& allocator) { return parsed(R"({"a":["text"]})", allocator); }};
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  REQUIRE(zeros >= 0);
  for (void* place : {static_cast<void*>(&source.value()), static_cast<void*>(&source.value()["a"]),
                      static_cast<void*>(&source.value()["a"][0])}) {
    errno = 0;
    CHECK(::read(zeros, place, 1) == -1);
    CHECK(errno == EFAULT);
  }
  ::close(zeros);
}

}  // namespace
}  // namespace dynamo

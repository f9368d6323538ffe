// L13: converting generated objects in one review has the same result as converting each alone.
// DYNAMO_LAW_OBJECTS sets their number.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/json/parse.h"
#include "support.h"
#include "tests/unit/conversion/generator.h"

namespace dynamo::webhook::test {
namespace {

using json::Value;

constexpr unsigned kMaxBatch = 40;

std::uint64_t objects() {
  const char* set = std::getenv("DYNAMO_LAW_OBJECTS");
  return set == nullptr ? 20000 : std::strtoull(set, nullptr, 10);
}

std::string reviewOf(std::string_view desired, const std::vector<std::string>& objects) {
  return fmt::format(R"({{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1",)"
                     R"("request":{{"uid":"u","desiredAPIVersion":"{}","objects":[{}]}}}})",
                     desired, fmt::join(objects, ","));
}

/// The members of the list of converted objects, as texts; fails the test if the review did.
std::vector<std::string> answers(std::string_view desired, const std::vector<std::string>& objects) {
  const Reply reply = ask(kConvert, reviewOf(desired, objects));
  const json::Document answer = parsed(reply);
  const Value* response = json::find(&answer, "response");
  const Value* converted = json::find(response, "convertedObjects");
  if (json::findText(json::find(response, "result"), "status") != "Success" || converted == nullptr) {
    FAIL(reply.body);
  }
  std::vector<std::string> texts;
  for (const Value& object : converted->GetArray()) texts.push_back(json::dump(object));
  return texts;
}

TEST_CASE("a batch is converted like its objects one by one (L13)") {
  std::uint64_t held = 0;
  for (std::uint64_t seed = 0; held < objects(); ++seed) {
    json::Allocator allocator;
    dynamo::test::Generator generator{seed, allocator};
    const std::string_view desired = seed % 2 == 0 ? api::kV1beta1 : api::kV1alpha1;
    std::vector<std::string> batch;
    std::vector<std::string> alone;
    for (unsigned left = generator.below(kMaxBatch) + 1; left > 0; --left) {
      // Some objects already have the desired version, because etcd stores both.
      const Value object = generator.chance(50) ? generator.alpha() : generator.beta();
      batch.push_back(json::dump(object));
      Value converted;
      REQUIRE(!conversion::convertDgdr(object, desired, converted, allocator));
      alone.push_back(json::dump(converted));
    }
    const std::vector<std::string> together = answers(desired, batch);
    if (together != alone) {
      FAIL("seed " << seed << "\nobjects  " << fmt::format("{}", fmt::join(batch, "\n         "))
                   << "\ntogether " << fmt::format("{}", fmt::join(together, "\n         ")) << "\nalone    "
                   << fmt::format("{}", fmt::join(alone, "\n         ")));
    }
    if (seed % 8 == 0) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (answers(desired, {batch[i]}) != std::vector{alone[i]})
          FAIL("alone, seed " << seed << " object " << i);
      }
    }
    held += batch.size();
  }
  CHECK(held >= objects());
}

}  // namespace
}  // namespace dynamo::webhook::test

#pragma once
// Random DynamoGraphDeployments and DynamoComponentDeployments as users write them, and edits of theirs.
// Deterministic per seed.

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::test {

/// Plausible: what the schema and the rules admit. Odd: also nulls, empty and wrong values.
enum class Taste { Plausible, Odd };

class GraphGenerator {
 public:
  GraphGenerator(std::uint64_t seed, json::Allocator& allocator, Taste taste = Taste::Odd)
      : random_(seed), allocator_(allocator), odd_(taste == Taste::Odd) {}

  /// A whole DynamoGraphDeployment, without what the API server adds.
  json::Value graph();
  /// A DynamoComponentDeployment that no graph made.
  json::Value component();
  /// One entry of spec.services.
  json::Value service();
  /// Changes something of the user's: an image, a variable, a type, a probe, a service more or less, …
  /// Nothing that the webhook writes, unless the user has it already.
  void edit(json::Value& object);
  /// Members of all objects in another order; items of lists stay.
  void shuffle(json::Value& value);

  bool chance(int percent) { return below(100) < static_cast<unsigned>(percent); }
  unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>{0, bound - 1}(random_); }

 private:
  using Value = json::Value;
  using Texts = std::initializer_list<std::string_view>;
  Value text(std::string_view s) { return json::string(s, allocator_); }
  Value pick(Texts options);
  /// One of `options`, in odd objects also null or something of another type.
  Value oddly(Value&& value);
  Value parse(Texts options);
  void add(Value& parent, std::string_view key, int percent, Value&& value);
  Value metadata();
  Value annotations();
  Value envs();
  Value probe();
  Value volumes();
  Value podSpec();
  Value mainContainer();
  void commandLine(Value& container);
  void editService(Value& service);

  std::mt19937_64 random_;
  json::Allocator& allocator_;
  bool odd_;
};

}  // namespace dynamo::test

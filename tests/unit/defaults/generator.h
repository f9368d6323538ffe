#pragma once
// Random DynamoGraphDeployments and DynamoComponentDeployments as users write them, and random edits. Each
// seed gives the same objects.

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::test {

/// Plausible: valid for the schema and the rules. Odd: also nulls, empty values and wrong types.
enum class Taste { Plausible, Odd };

class GraphGenerator {
 public:
  GraphGenerator(std::uint64_t seed, json::Allocator& allocator, Taste taste = Taste::Odd)
      : random_(seed), allocator_(allocator), odd_(taste == Taste::Odd) {}

  /// A whole DynamoGraphDeployment without fields that the API server adds.
  json::Value graph();
  /// A DynamoComponentDeployment that does not belong to a graph.
  json::Value component();
  /// One entry of spec.services.
  json::Value service();
  /// Changes a field of the user: an image, a variable, a type, a probe, the set of services, … A field that
  /// the webhook writes is only changed if the user has set it.
  void edit(json::Value& object);
  /// Shuffles the members of all objects. Items of lists keep their order.
  void shuffle(json::Value& value);

  bool chance(int percent) { return below(100) < static_cast<unsigned>(percent); }
  unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>{0, bound - 1}(random_); }

 private:
  using Value = json::Value;
  using Texts = std::initializer_list<std::string_view>;
  Value text(std::string_view s) { return json::string(s, allocator_); }
  Value pick(Texts options);
  /// One of `options`. In odd objects also null or a value of another type.
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

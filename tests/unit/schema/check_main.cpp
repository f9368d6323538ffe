// dynamo-schema-check reads JSON lines {"object": …, "old": …, "status": bool, "strict": bool} and prints a
// JSON list of messages for each. "old", "status" and "strict" are optional.

#include <iostream>
#include <string>

#include "common/json/parse.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace {

using dynamo::json::Value;
namespace json = dynamo::json;
namespace schema = dynamo::schema;

std::string answer(const std::string& line) {
  json::Document request;
  if (auto error = json::parse(line, request)) throw std::runtime_error(error->message());
  const Value* object = json::find(request, "object");
  const schema::Node* node =
      schema::find(json::findText(object, "apiVersion"), json::findText(object, "kind"));
  if (node == nullptr) throw std::runtime_error("not a kind of ours");
  schema::Options options;
  options.old = json::find(request, "old");
  options.status = json::findBool(&request, "status").value_or(false);
  options.unknownFields = json::findBool(&request, "strict").value_or(false);
  Value messages{rapidjson::kArrayType};
  for (const auto& finding : schema::validate(*node, *object, options)) {
    messages.PushBack(json::string(finding.message(), request.GetAllocator()), request.GetAllocator());
  }
  return json::dump(messages);
}

}  // namespace

int main() {
  try {
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(line) << '\n';
  } catch (const std::exception& error) {
    std::cerr << "dynamo-schema-check: " << error.what() << '\n';
    return 2;
  }
  return 0;
}

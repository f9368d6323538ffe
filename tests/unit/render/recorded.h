#pragma once
// Rendered pod templates with the origins of their values.

#include <string>
#include <string_view>
#include <vector>

#include "common/render/origin.h"
#include "tests/unit/render/support.h"

namespace dynamo::render::test {

struct Template {
  const json::Value* value;
  const Origins* origins;
};

/// Everything rendered from an object.
struct Recorded {
  Children children;
  std::vector<json::Value> made;
  std::vector<Template> templates;
};

Recorded recorded(const json::Value& object, const Setup& setup);

/// "spec.envs[0]" of the user's own, "made of ...", "default ..." or "operator's, for ...".
std::string shown(const Origin& origin);

/// "spec.containers[0].env[A].value" as a path in `value`: a text in brackets is the name, or the path, of an
/// item, else the key of a map.
field::Path pathIn(const json::Value& value, std::string_view written);

/// A place in a pod template, and its origin as shown() has it.
struct Row {
  std::string_view rendered;
  std::string origin;
};

void check(const Template& pod, const std::vector<Row>& rows);
/// The service "Svc" of a graph on a pathway; `position` of several templates. `given` replaces the usual
/// setup.
void check(Pathway pathway, std::string_view service, const std::vector<Row>& rows, std::size_t position = 0,
           const Setup* given = nullptr);

inline const std::string kSvc = "spec.services[Svc].";

}  // namespace dynamo::render::test

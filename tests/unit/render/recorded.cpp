#include "recorded.h"

#include <catch2/catch.hpp>

namespace dynamo::render::test {

using field::Path;
using json::Value;

Recorded recorded(const Value& object, const Setup& setup) {
  Context context = setup.context();
  context.recordOrigins = true;
  Recorded all{childrenOf(object, context), {}, {}};
  all.made.resize(all.children.items.size());
  for (std::size_t child = 0; child < all.made.size(); ++child) {
    Child& item = all.children.items[child];
    const auto templates = podTemplates(item.object, all.made[child], all.children.memory());
    if (templates.empty()) continue;
    REQUIRE(item.origins.size() == templates.size());
    for (std::size_t i = 0; i < templates.size(); ++i) {
      all.templates.push_back({templates[i], &item.origins[i]});
    }
  }
  return all;
}

std::string shown(const Origin& origin) {
  static constexpr const char* kWords[] = {"", "made of ", "default ", "operator's, for "};
  return kWords[static_cast<int>(origin.source)] + origin.field.text();
}

Path pathIn(const Value& value, std::string_view written) {
  Path path;
  while (!written.empty()) {
    if (written.front() == '[') {
      const std::string_view inside = written.substr(1, written.find(']') - 1);
      written.remove_prefix(inside.size() + 2);
      const Value* list = field::valueAt(value, path);
      if (list == nullptr || !list->IsArray()) {
        path.appendKey(inside);
        continue;
      }
      if (inside.find_first_not_of("0123456789") == std::string_view::npos) {
        path.appendIndex(std::stoul(std::string{inside}));
        continue;
      }
      std::size_t index = 0;
      for (; index < list->Size(); ++index) {
        const Value& item = (*list)[static_cast<rapidjson::SizeType>(index)];
        if (json::findText(&item, "name") == inside || json::findText(&item, "mountPath") == inside) break;
      }
      path.appendIndex(index);
      continue;
    }
    if (written.front() == '.') written.remove_prefix(1);
    const std::string_view name = written.substr(0, written.find_first_of(".["));
    path.append(name);
    written.remove_prefix(name.size());
  }
  return path;
}

void check(const Template& pod, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.rendered);
    INFO(json::dump(*pod.value));
    CHECK(shown(pod.origins->of(pathIn(*pod.value, row.rendered))) == row.origin);
  }
}

void check(Pathway pathway, std::string_view service, const std::vector<Row>& rows, std::size_t position,
           const Setup* given) {
  const Setup setup{pathway};
  const json::Document graph = graphOf(service);
  const Recorded all = recorded(graph, given == nullptr ? setup : *given);
  INFO(errorsOf(all.children));
  REQUIRE(all.templates.size() > position);
  check(all.templates[position], rows);
}

}  // namespace dynamo::render::test

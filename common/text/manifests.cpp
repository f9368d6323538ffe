#include "common/text/manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

#include "common/text/input.h"
#include "common/text/yaml.h"

namespace dynamo::text {
namespace {

/// Returns the text, or sets `error`.
std::optional<std::string> textOf(const std::string& file, std::string& error) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) {
      error = fmt::format("{}: {}", file, std::strerror(errno));
      return std::nullopt;
    }
  }
  std::istream& input = file == "-" ? std::cin : opened;
  std::string text = text::readText(input);
  if (input.bad()) {
    error = fmt::format("{}: cannot be read", file);
    return std::nullopt;
  }
  return text;
}

/// The line of the expression of a template that probably caused an error in line `error`: the last one up to
/// it, else the first one of the text. 0 if there is none.
std::size_t templateLine(std::string_view text, std::size_t error) {
  std::size_t number = 0;
  std::size_t last = 0;
  while (!text.empty() && (number < error || last == 0)) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    ++number;
    const std::size_t expression = line.find("{{");
    const std::size_t statement = line.find("{%");
    if ((expression != line.npos && line.find("}}", expression) != line.npos) ||
        (statement != line.npos && line.find("%}", statement) != line.npos)) {
      last = number;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return last;
}

bool isManifest(const std::filesystem::path& path) {
  const std::filesystem::path end = path.extension();
  return end == ".json" || end == ".yaml" || end == ".yml";
}

/// Adds the file, or the files of the directory that kubectl would read, by name. Returns why not, or an
/// empty text.
std::string addFiles(const std::string& given, std::vector<std::string>& files) {
  std::error_code error;
  if (given == "-" || !std::filesystem::is_directory(given, error)) {
    files.push_back(given);
    return {};
  }
  std::vector<std::string> found;
  for (auto each = std::filesystem::directory_iterator{given, error};
       !error && each != std::filesystem::directory_iterator{}; each.increment(error)) {
    if (isManifest(each->path()) && !each->is_directory()) found.push_back(each->path().string());
  }
  if (error) return fmt::format("{}: {}", given, error.message());
  if (found.empty()) return fmt::format("{}: has no file *.json, *.yaml or *.yml", given);
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
  return {};
}

bool isList(const json::Value& value) {
  const json::Value* items = json::find(&value, "items");
  return json::findText(&value, "kind").ends_with("List") && items != nullptr && items->IsArray();
}

void addObjects(const std::string& file, TextDocument document, std::vector<Manifest>& objects) {
  if (!isList(document.value)) {
    objects.push_back({file, std::move(document.value), std::move(document.positions), {}});
    return;
  }
  const json::Value& items = *json::find(document.value, "items");
  for (rapidjson::SizeType i = 0; i < items.Size(); ++i) {
    json::Document object;
    object.CopyFrom(items[i], object.GetAllocator());
    // False positive: the analyzer misses that the document also moves its allocator.
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks)
    objects.push_back({file, std::move(object), document.positions, field::Path{"items"}[i]});
  }
}

}  // namespace

Position Manifest::locate(field::PathView path) const {
  return positions.locate(base / path);
}

std::string_view Manifest::kind() const {
  return json::findText(&object, "kind");
}
std::string_view Manifest::name() const {
  return json::findText(json::find(&object, "metadata"), "name");
}

Manifests readManifests(const std::vector<std::string>& given) {
  Manifests manifests;
  std::vector<std::string> files;
  for (const std::string& each : given) {
    if (std::string problem = addFiles(each, files); !problem.empty())
      manifests.errors.push_back(std::move(problem));
  }
  for (const std::string& file : files) {
    std::string error;
    const auto text = textOf(file, error);
    if (!text) {
      manifests.errors.push_back(error);
      continue;
    }
    TextDocuments parsed = parseDocuments(*text);
    for (TextDocument& document : parsed.documents) {
      addObjects(file, std::move(document), manifests.objects);
    }
    if (parsed.error) {
      std::string problem =
          fmt::format("{}:{}:{}: {}", file, parsed.error->line, parsed.error->column, parsed.error->reason);
      if (const std::size_t line = templateLine(*text, parsed.error->line); line > 0)
        problem += fmt::format("; line {} is of a template that was not rendered", line);
      manifests.errors.push_back(std::move(problem));
    }
  }
  return manifests;
}

}  // namespace dynamo::text

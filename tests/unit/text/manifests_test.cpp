// Files and directories of manifests.
#include "common/text/manifests.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace dynamo::text {
namespace {

class Folder {
 public:
  Folder() : path_{std::filesystem::temp_directory_path() / "dynamo-manifests-XXXXXX"} {
    std::string name = path_.string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream{path_ / name} << text;
  }

 private:
  std::filesystem::path path_;
};

/// "FILE NAME" of each object, and the errors, without the folder.
std::string readFrom(const Folder& folder, const std::vector<std::string>& given) {
  const std::string prefix = folder / "";
  const auto without = [&](std::string text) {
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  };
  const Manifests read = readManifests(given);
  std::string all;
  for (const Manifest& manifest : read.objects)
    all += without(manifest.file) + " " + std::string{manifest.name()} + "\n";
  for (const std::string& error : read.errors) all += "error: " + without(error) + "\n";
  return all;
}

}  // namespace

TEST_CASE("a directory stands for its manifests") {
  const Folder folder;
  folder.write("d/b.yaml", "metadata: {name: b}\n---\nmetadata: {name: b2}\n");
  folder.write("d/a.yml", "metadata: {name: a}\n");
  folder.write("d/c.json", R"({"metadata":{"name":"c"}})");
  folder.write("d/README.md", "{{{");
  folder.write("d/below/x.yaml", "metadata: {name: x}\n");
  folder.write("d/dir.yaml/y.yaml", "metadata: {name: y}\n");
  folder.write("single", "metadata: {name: s}\n");
  folder.write("empty/README.md", "");
  CHECK(readFrom(folder, {folder / "single", folder / "d"}) ==
        "single s\nd/a.yml a\nd/b.yaml b\nd/b.yaml b2\nd/c.json c\n");
  CHECK(readFrom(folder, {folder / "empty"}) == "error: empty: has no file *.json, *.yaml or *.yml\n");
  CHECK(readFrom(folder, {folder / "absent"}) == "error: absent: No such file or directory\n");
  folder.write("d/e.yaml", "a: [\n");
  CHECK(readFrom(folder, {folder / "d"}).find("error: d/e.yaml:") != std::string::npos);
}

}  // namespace dynamo::text

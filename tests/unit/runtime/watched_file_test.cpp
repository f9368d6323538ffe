// Files that are reread when their content changes.

#include "common/runtime/watched_file.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/unit/certs/support.h"

namespace dynamo::runtime::test {

using certs::test::TemporaryDirectory;
using certs::test::writeText;

TEST_CASE("a file is read when its content changes") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "facts.yaml";
  WatchedFile file{path.string(), 100};
  const auto poll = [&file]() -> std::string {
    const auto reading = file.poll();
    if (!reading) return "unchanged";
    if (!reading->error.empty()) return "error: " + reading->error;
    return reading->text ? "text: " + *reading->text : "missing";
  };
  CHECK(poll() == "missing");
  CHECK(poll() == "unchanged");
  writeText(path, "one");
  CHECK(poll() == "text: one");
  writeText(path, "one");
  CHECK(poll() == "unchanged");
  writeText(path, "");
  CHECK(poll() == "text: ");
  std::filesystem::remove(path);
  CHECK(poll() == "missing");
  std::filesystem::create_directory(path);
  CHECK(poll() == "error: Is a directory");
  CHECK(poll() == "unchanged");
}

TEST_CASE("a swapped link of a volume is detected") {
  const TemporaryDirectory directory;
  for (const char* version : {"v1", "v2"}) {
    std::filesystem::create_directory(directory.path() / version);
    writeText(directory.path() / version / "facts.yaml", version);
  }
  std::filesystem::create_directory_symlink("v1", directory.path() / "..data");
  WatchedFile file{(directory.path() / "..data" / "facts.yaml").string(), 100};
  CHECK(file.poll()->text == "v1");
  std::filesystem::create_directory_symlink("v2", directory.path() / "..next");
  std::filesystem::rename(directory.path() / "..next", directory.path() / "..data");
  CHECK(file.poll()->text == "v2");
}

TEST_CASE("a file that is too long is read up to one byte more than the limit") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "long";
  for (const std::size_t size : {std::size_t{100'000}, std::size_t{100'001}, std::size_t{300'000}}) {
    writeText(path, std::string(size, 'x'));
    const auto reading = WatchedFile{path.string(), 100'000}.poll();
    REQUIRE(reading);
    CHECK(reading->error.empty());
    CHECK(reading->text->size() == std::min(size, std::size_t{100'001}));
  }
}

TEST_CASE("an empty path never has a file") {
  CHECK_FALSE(WatchedFile{"", 100}.poll());
}

}  // namespace dynamo::runtime::test

// A watch wakes its waiter when files of a directory change.

#include "common/runtime/directory_watch.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/unit/certs/support.h"

namespace dynamo::runtime::test {
namespace {

namespace fs = std::filesystem;
using certs::test::TemporaryDirectory;
using certs::test::writeText;

bool wakes(const DirectoryWatch& watch) {
  pollfd descriptor{watch.descriptor(), POLLIN, 0};
  return ::poll(&descriptor, 1, 1000) == 1;
}

bool quiet(const DirectoryWatch& watch) {
  pollfd descriptor{watch.descriptor(), POLLIN, 0};
  return ::poll(&descriptor, 1, 0) == 0;
}

/// A new version of a volume, as the kubelet projects it.
void project(const fs::path& volume, const std::string& version) {
  fs::create_directory(volume / version);
  writeText(volume / version / "file", version);
  fs::create_directory_symlink(version, volume / "..data_tmp");
  fs::rename(volume / "..data_tmp", volume / "..data");
}

}  // namespace

TEST_CASE("every swap of a volume's link wakes the waiter, and a refresh resets the watch") {
  const TemporaryDirectory directory;
  project(directory.path(), "..v1");
  DirectoryWatch watch{directory.path()};
  CHECK(quiet(watch));
  for (const char* version : {"..v2", "..v3"}) {
    project(directory.path(), version);
    CHECK(wakes(watch));
    watch.refresh();
    CHECK(quiet(watch));
  }
  writeText(directory.path() / "..v3" / "file", "in place");
  CHECK(wakes(watch));
}

TEST_CASE("files that appear or disappear in a plain directory wake the waiter") {
  const TemporaryDirectory directory;
  DirectoryWatch watch{directory.path()};
  writeText(directory.path() / "file", "x");
  CHECK(wakes(watch));
  watch.refresh();
  fs::remove(directory.path() / "file");
  CHECK(wakes(watch));
}

TEST_CASE("a directory that is created later is watched after the next refresh") {
  const TemporaryDirectory parent;
  const fs::path directory = parent.path() / "later";
  DirectoryWatch watch{directory};
  fs::create_directory(directory);
  watch.refresh();
  CHECK(quiet(watch));
  writeText(directory / "file", "x");
  CHECK(wakes(watch));
}

}  // namespace dynamo::runtime::test

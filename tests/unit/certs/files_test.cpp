#include "certs/files.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "certs/pem.h"
#include "tests/unit/certs/support.h"

using namespace dynamo::certs;
using namespace dynamo::certs::test;

namespace {

const CertificateData kTexts{{"ca certificate", "ca key"}, {"certificate", "key"}};

unsigned modeOf(const std::filesystem::path& path) {
  return static_cast<unsigned>(std::filesystem::status(path).permissions());
}

std::size_t entriesOf(const std::filesystem::path& path) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{path}, {}));
}

}  // namespace

TEST_CASE("files are written with their modes and no leftovers") {
  const TemporaryDirectory directory;
  const auto out = directory.path() / "a" / "b";
  REQUIRE_FALSE(writeFiles(out, kTexts, Overwrite::Refuse));
  struct Row {
    const char* name;
    std::string text;
    unsigned mode;
  };
  for (const Row& row : {Row{"ca.crt", "ca certificate", 0644}, Row{"ca.key", "ca key", 0600},
                         Row{"tls.crt", "certificate", 0644}, Row{"tls.key", "key", 0600}}) {
    CHECK(readText(out / row.name) == row.text);
    CHECK(modeOf(out / row.name) == row.mode);
  }
  CHECK(entriesOf(out) == 4);
}

TEST_CASE("files are only overwritten on request") {
  const TemporaryDirectory directory;
  writeText(directory.path() / "tls.key", "precious");
  const auto error = writeFiles(directory.path(), kTexts, Overwrite::Refuse);
  REQUIRE(error);
  CHECK(error->problem == Problem::Exists);
  CHECK(error->text == (directory.path() / "tls.key").string() + ": already exists");
  CHECK(readText(directory.path() / "tls.key") == "precious");
  CHECK(entriesOf(directory.path()) == 1);
  REQUIRE_FALSE(writeFiles(directory.path(), kTexts, Overwrite::Allow));
  CHECK(readText(directory.path() / "tls.key") == "key");
  CHECK(modeOf(directory.path() / "tls.key") == 0600);
}

TEST_CASE("a file that appears meanwhile is not overwritten, and no other file is written") {
  for (const char* const name : {"tls.key", "tls.crt", "ca.key", "ca.crt"}) {
    INFO(name);
    const TemporaryDirectory directory;
    {
      StagedFiles staged{directory.path(), kTexts};
      writeText(directory.path() / name, "precious");
      const auto error = staged.place(Overwrite::Refuse);
      REQUIRE(error);
      CHECK(error->problem == Problem::Exists);
      CHECK(error->text == (directory.path() / name).string() + ": already exists");
    }
    CHECK(readText(directory.path() / name) == "precious");
    CHECK(entriesOf(directory.path()) == 1);
  }
}

TEST_CASE("a dangling link is not overwritten") {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("/nonexistent/key", directory.path() / "tls.crt");
  CHECK(writeFiles(directory.path(), kTexts, Overwrite::Refuse)->problem == Problem::Exists);
  CHECK(std::filesystem::is_symlink(directory.path() / "tls.crt"));
  CHECK(entriesOf(directory.path()) == 1);
}

TEST_CASE("staged files that are not placed are removed") {
  const TemporaryDirectory directory;
  { const StagedFiles staged{directory.path(), kTexts}; }
  CHECK(entriesOf(directory.path()) == 0);
}

TEST_CASE("empty members are left alone") {
  const TemporaryDirectory directory;
  writeText(directory.path() / "ca.crt", "old");
  REQUIRE_FALSE(writeFiles(directory.path(), {{}, {"certificate", "key"}}, Overwrite::Refuse));
  CHECK(readText(directory.path() / "ca.crt") == "old");
  CHECK(entriesOf(directory.path()) == 3);
}

TEST_CASE("a directory that cannot be created is an error with its path") {
  const TemporaryDirectory directory;
  writeText(directory.path() / "file", "x");
  const auto error = writeFiles(directory.path() / "file" / "sub", kTexts, Overwrite::Refuse);
  REQUIRE(error);
  CHECK(error->problem == Problem::Unreadable);
  CHECK(error->text.starts_with((directory.path() / "file").string()));
}

TEST_CASE("reading files of a directory") {
  const TemporaryDirectory directory;
  const auto& dir = directory.path();
  writeText(dir / "good", "text");
  writeText(dir / "empty", "");
  writeText(dir / "atCap", std::string(kMaxPemBytes, 'x'));
  writeText(dir / "overCap", std::string(kMaxPemBytes + 1, 'x'));
  std::filesystem::create_directory(dir / "folder");
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  const DirectorySnapshot files{dir};
  struct Row {
    const char* name;
    Problem problem;
  };
  for (const Row& row :
       {Row{"good", Problem::None}, Row{"empty", Problem::Empty}, Row{"atCap", Problem::None},
        Row{"overCap", Problem::TooLarge}, Row{"folder", Problem::Unreadable},
        Row{"pipe", Problem::Unreadable}, Row{"absent", Problem::Missing}}) {
    const auto text = files.read(row.name);
    INFO(row.name);
    CHECK(toString(problemOf(text)) == toString(row.problem));
    if (const auto* error = std::get_if<Error>(&text))
      CHECK(error->text.starts_with((dir / row.name).string()));
  }
  CHECK(problemOf(DirectorySnapshot{dir / "nowhere"}.read("good")) == Problem::Missing);
}

TEST_CASE("a snapshot reads one version of the Secret volume") {
  const TemporaryDirectory directory;
  const auto& dir = directory.path();
  for (const char* version : {"..1", "..2"}) {
    std::filesystem::create_directory(dir / version);
    writeText(dir / version / "tls.crt", version);
  }
  std::filesystem::create_symlink("..1", dir / "..data");
  std::filesystem::create_symlink("..data/tls.crt", dir / "tls.crt");
  const DirectorySnapshot files{dir};
  std::filesystem::create_symlink("..2", dir / "..tmp");
  std::filesystem::rename(dir / "..tmp", dir / "..data");
  CHECK(std::get<std::string>(files.read("tls.crt")) == "..1");
  CHECK(std::get<std::string>(DirectorySnapshot{dir}.read("tls.crt")) == "..2");
}

TEST_CASE("a directory that cannot be opened is not reported as missing") {
  const TemporaryDirectory directory;
  writeText(directory.path() / "file", "x");
  const DirectorySnapshot files{directory.path() / "file"};
  const auto read = files.read(kCertificateFile);
  REQUIRE(problemOf(read) == Problem::Unreadable);
  CHECK(std::get<Error>(read).text == (directory.path() / "file").string() + ": Not a directory");
  CHECK(problemOf(DirectorySnapshot{directory.path() / "none"}.read(kCertificateFile)) == Problem::Missing);
}

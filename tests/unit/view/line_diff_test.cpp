// Differences of texts, line by line.
#include "controller/view/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

namespace dynamo::view {
namespace {

/// "=a -b +c"; the texts have one letter per line.
std::string marked(const std::string& before, const std::string& after) {
  const auto lines = [](const std::string& letters) {
    std::string text;
    for (const char letter : letters) text += std::string{letter} + '\n';
    return text;
  };
  std::string out;
  for (const DiffLine& line : diffLines(lines(before), lines(after)))
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", line.mark == ' ' ? '=' : line.mark, line.text);
  return out;
}

/// The length of the shortest script of edits, by dynamic programming.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = a[i - 1] == b[j - 1] ? diagonal : 1 + std::min(row[j], row[j - 1]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

TEST_CASE("lines are marked as in one text, in the other, or in both") {
  struct Row {
    std::string before;
    std::string after;
    std::string marks;
  };
  const std::vector<Row> rows = {
      {"", "", ""},
      {"abc", "abc", "=a =b =c"},
      {"", "ab", "+a +b"},
      {"ab", "", "-a -b"},
      {"abc", "axc", "=a -b +x =c"},
      {"abc", "bc", "-a =b =c"},
      {"abc", "abcd", "=a =b =c +d"},
      {"aab", "ab", "=a -a =b"},
  };
  for (const Row& row : rows) {
    INFO(row.before << " " << row.after);
    CHECK(marked(row.before, row.after) == row.marks);
  }
}

TEST_CASE("a difference restores both texts and is as short as possible") {
  std::mt19937 random{7};
  for (int i = 0; i < 2000; ++i) {
    std::string texts[2];
    for (std::string& text : texts) {
      text.resize(random() % 12);
      for (char& letter : text) letter = static_cast<char>('a' + random() % 4);
    }
    INFO(texts[0] << " " << texts[1]);
    std::string before;
    std::string after;
    std::size_t edits = 0;
    const std::string marks = marked(texts[0], texts[1]);
    for (std::size_t at = 0; at < marks.size(); at += 3) {
      if (marks[at] != '+') before += marks[at + 1];
      if (marks[at] != '-') after += marks[at + 1];
      if (marks[at] != '=') ++edits;
    }
    REQUIRE(before == texts[0]);
    REQUIRE(after == texts[1]);
    REQUIRE(edits == distance(texts[0], texts[1]));
  }
}

TEST_CASE("texts that differ almost everywhere are replaced as a whole") {
  std::string before;
  std::string after;
  for (std::size_t i = 0; i < kMaxEdits; ++i) {
    before += fmt::format("a{}\n", i);
    after += fmt::format("b{}\n", i);
  }
  const std::vector<DiffLine> lines = diffLines("first\n" + before + "last\n", "first\n" + after + "last\n");
  REQUIRE(lines.size() == 2 * kMaxEdits + 2);
  CHECK(lines.front() == DiffLine{' ', "first"});
  CHECK(lines[1] == DiffLine{'-', "a0"});
  CHECK(lines[kMaxEdits + 1] == DiffLine{'+', "b0"});
  CHECK(lines.back() == DiffLine{' ', "last"});
}

TEST_CASE("a hunk has its path and three lines around each difference") {
  const std::string before =
      "metadata:\n  labels:\n    a: b\nspec:\n  containers:\n  - image: x\n    name: main\n    args:\n    - "
      "one\n"
      "    - two\n    - three\n    - four\n    - five\n    - six\n    env:\n    - name: A\n      value: "
      "\"1\"\n"
      "  - name: other\n  replicas: 1\n";
  std::string after = before;
  after.replace(after.find("a: b"), 4, "a: c");
  after.replace(after.find("\"1\""), 3, "\"2\"");
  CHECK(unifiedDiff(before, after, Style{}) ==
        "  @@ metadata.labels @@\n"
        "   metadata:\n"
        "     labels:\n"
        "  -    a: b\n"
        "  +    a: c\n"
        "   spec:\n"
        "     containers:\n"
        "     - image: x\n"
        "  @@ spec.containers[main].env[A] @@\n"
        "       - six\n"
        "       env:\n"
        "       - name: A\n"
        "  -      value: \"1\"\n"
        "  +      value: \"2\"\n"
        "     - name: other\n"
        "     replicas: 1\n");
  CHECK(unifiedDiff(before, before, Style{}).empty());
  CHECK(unifiedDiff("\x1b[2J:\n  a: 1\n", "\x1b[2J:\n  a: \xc2\x9b\n", Style{}) ==
        "  @@  [2J @@\n    [2J:\n  -  a: 1\n  +  a:  \n");
}

TEST_CASE("differences that are near each other share a hunk") {
  const std::string text = unifiedDiff("a\n1\n2\n3\n4\n5\n6\nb\n", "x\n1\n2\n3\n4\n5\n6\ny\n", Style{});
  CHECK(text == "  @@ @@\n  -a\n  +x\n   1\n   2\n   3\n   4\n   5\n   6\n  -b\n  +y\n");
  const std::string apart =
      unifiedDiff("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "x\n1\n2\n3\n4\n5\n6\n7\ny\n", Style{});
  CHECK(apart == "  @@ @@\n  -a\n  +x\n   1\n   2\n   3\n  @@ @@\n   5\n   6\n   7\n  -b\n  +y\n");
}

TEST_CASE("a large difference is cut") {
  std::string before;
  std::string after;
  for (int i = 0; i < 150; ++i) {
    before += fmt::format("a{}\n", i);
    after += fmt::format("b{}\n", i);
  }
  const std::string text = unifiedDiff(before, after, Style{});
  CHECK(std::count(text.begin(), text.end(), '\n') == static_cast<long>(kMaxDiffLines) + 2);
  CHECK(text.ends_with("  (100 more lines differ)\n"));
}

TEST_CASE("strings of several lines are folded") {
  CHECK(foldStrings("a:\n  b: \"one\\ntwo\\n\"\n  c: \"x\\\\ny\"\n") ==
        "a:\n  b: \"one\\n\n      two\\n\"\n  c: \"x\\\\ny\"\n");
}

}  // namespace dynamo::view

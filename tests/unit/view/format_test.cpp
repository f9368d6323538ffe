// Ages, colours and tables.

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "controller/view/age.h"
#include "controller/view/style.h"
#include "controller/view/table.h"

namespace dynamo::view {

using namespace std::chrono_literals;

TEST_CASE("an age has the two largest units that matter, as kubectl prints it") {
  struct Row {
    std::chrono::seconds age;
    std::string text;
  };
  const std::vector<Row> rows = {
      {-5s, "0s"},         {0s, "0s"},        {119s, "119s"},       {120s, "2m"},
      {125s, "2m5s"},      {599s, "9m59s"},   {600s, "10m"},        {659s, "10m"},
      {179min, "179m"},    {3h, "3h"},        {3h + 7min, "3h7m"},  {8h + 7min, "8h"},
      {47h, "47h"},        {48h, "2d"},       {50h, "2d2h"},        {8 * 24h + 5h, "8d"},
      {729 * 24h, "729d"}, {730 * 24h, "2y"}, {740 * 24h, "2y10d"}, {9 * 365 * 24h, "9y"},
  };
  for (const Row& row : rows) {
    INFO(row.age.count());
    CHECK(formatAge(row.age) == row.text);
  }
}

TEST_CASE("colours are used on terminals, or on request") {
  CHECK(usesColor("auto", true, ""));
  CHECK_FALSE(usesColor("auto", true, "1"));
  CHECK_FALSE(usesColor("auto", false, ""));
  CHECK(usesColor("always", false, "1"));
  CHECK_FALSE(usesColor("never", true, ""));
  CHECK(Style{true}.paint(Color::Red, "x") == "\x1b[31mx\x1b[0m");
  CHECK(Style{true}.paint(Color::Plain, "x") == "x");
  CHECK(Style{true}.paint(Color::Red, "").empty());
  CHECK(Style{false}.paint(Color::Red, "x") == "x");
}

TEST_CASE("a line is cut at the width of the terminal, without its colour sequences") {
  CHECK(columnsOf("├─ a") == 4);
  CHECK(cutLine("abc", 3) == "abc");
  CHECK(cutLine("abcd", 3) == "abc");
  CHECK(cutLine("├─ab", 3) == "├─a");
  CHECK(cutLine("\x1b[31mabcd\x1b[0m", 4) == "\x1b[31mabcd\x1b[0m");
  CHECK(cutLine("\x1b[31mabcd\x1b[0m", 2) == "\x1b[31mab\x1b[0m");
}

TEST_CASE("columns of a table are aligned, and lines have no spaces at their end") {
  Table table{Style{}};
  table.add({{"NAME"}, {"READY"}, {"STATUS"}});
  table.add({{"└─ a"}, {}, {"Ready"}});
  table.add({{"long name"}, {"1/2"}, {}});
  table.add({{"b"}});
  CHECK(table.text() ==
        "NAME       READY  STATUS\n"
        "└─ a              Ready\n"
        "long name  1/2\n"
        "b\n");
}

TEST_CASE("a cell is one line without control characters, and only colours are sequences") {
  struct Row {
    std::string cell;
    std::string text;
  };
  const std::vector<Row> rows = {
      {"a\nb\tc\r", "a b c "},
      {"\x1b[2J\x1b]0;t\x07", " [2J ]0;t "},
      {"\x7f", " "},
      {"\xc2\x9b"
       "31m",
       " 31m"},
      {"├─ é", "├─ é"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    Table plain{Style{}};
    plain.add({{"x"}, {row.cell}, {"y"}});
    CHECK(plain.text() == "x  " + row.text + "  y\n");
    Table colored{Style{true}};
    colored.add({{row.cell, Color::Red}});
    CHECK(colored.text() == "\x1b[31m" + row.text + "\x1b[0m\n");
  }
}

}  // namespace dynamo::view

#include "common/observability/log.h"

#include <catch2/catch.hpp>
#include <limits>
#include <thread>
#include <vector>

#include "common/json/parse.h"
#include "common/json/utf8.h"
#include "tests/unit/observability/captured.h"

namespace dynamo::log {

using test::captured;

namespace {

using namespace std::chrono_literals;

const std::chrono::system_clock::time_point kTime{1'767'225'599'042ms};  // 2025-12-31T23:59:59.042Z

std::string line(Format format, std::string_view message, Fields fields = {}, std::string_view logger = {}) {
  return renderLine(format, Level::Info, kTime, logger, message,
                    std::span<const Field>{fields.begin(), fields.size()});
}

}  // namespace

TEST_CASE("lines in JSON and in text") {
  CHECK(line(Format::Json, "certificate reloaded", {{"notAfter", "2027"}}) ==
        R"({"ts":"2025-12-31T23:59:59.042Z","level":"info","msg":"certificate reloaded","notAfter":"2027"})");
  CHECK(line(Format::Json, "x", {}, "certs") ==
        R"({"ts":"2025-12-31T23:59:59.042Z","level":"info","logger":"certs","msg":"x"})");
  CHECK(line(Format::Text, "certificate reloaded", {{"notAfter", "2027"}, {"why", "a b"}}, "certs") ==
        R"(2025-12-31T23:59:59.042Z INFO  certs: certificate reloaded notAfter=2027 why="a b")");
  CHECK(renderLine(Format::Text, Level::Error, kTime, {}, "x", {}) == "2025-12-31T23:59:59.042Z ERROR x");
}

TEST_CASE("fields of every type") {
  CHECK(line(Format::Json, "m",
             {{"s", std::string{"a"}},
              {"null", static_cast<const char*>(nullptr)},
              {"b", true},
              {"i", -1},
              {"l", std::numeric_limits<std::int64_t>::min()},
              {"u", std::numeric_limits<std::uint64_t>::max()},
              {"d", 0.25},
              {"inf", std::numeric_limits<double>::infinity()}}) ==
        R"({"ts":"2025-12-31T23:59:59.042Z","level":"info","msg":"m","s":"a","null":"","b":true,"i":-1,)"
        R"("l":-9223372036854775808,"u":18446744073709551615,"d":0.25,"inf":"inf"})");
  CHECK_THAT(line(Format::Text, "m", {{"e", ""}, {"q", "a\"b"}, {"eq", "a=b"}, {"n", 3}}),
             Catch::EndsWith(R"( m e="" q="a\"b" eq="a=b" n=3)"));
}

TEST_CASE("strings are escaped and stay on one line in both formats") {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"a\"b\\c", R"("a\"b\\c")"},
      {"line\nbreak\ttab\r", R"("line\nbreak\ttab\u000d")"},
      {std::string_view{"nul\0", 4}, R"("nul\u0000")"},
      {"\x1b[31m\x7f", R"("\u001b[31m\u007f")"},
      {"\xC3\xA9 \xF0\x9F\x98\x80", "\"\xC3\xA9 \xF0\x9F\x98\x80\""},
      {"bad \xC3( \xFF\xED\xA0\x80 \xE2\x82", "\"bad \uFFFD( \uFFFD\uFFFD\uFFFD\uFFFD \uFFFD\uFFFD\""},
  };
  for (const auto& [value, expected] : table) {
    CAPTURE(value);
    CHECK_THAT(line(Format::Json, "m", {{"v", value}}),
               Catch::EndsWith(",\"v\":" + std::string{expected} + "}"));
    CHECK_THAT(line(Format::Text, "m", {{"v", value}}), Catch::EndsWith(" v=" + std::string{expected}));
    CHECK_THAT(line(Format::Json, value), Catch::EndsWith(",\"msg\":" + std::string{expected} + "}"));
  }
}

TEST_CASE("every byte pair makes valid JSON and one line") {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string value{static_cast<char>(a), static_cast<char>(b)};
      const std::string text = line(Format::Json, value, {{"v", value}});
      json::Document document;
      const auto error = json::parse(text, document);
      if (error || text.find('\n') != std::string::npos) FAIL(a << " " << b << ": " << text);
    }
  }
}

TEST_CASE("long strings are cut at a character boundary") {
  const std::string exact(kMaxValue, 'x');
  CHECK_THAT(line(Format::Json, "m", {{"v", exact}}), Catch::EndsWith("\"v\":\"" + exact + "\"}"));
  CHECK_THAT(line(Format::Json, "m", {{"v", exact + "y"}}), Catch::EndsWith("\"v\":\"" + exact + "...\"}"));
  const std::string wide = std::string(kMaxValue - 1, 'x') + "\xC3\xA9";
  CHECK_THAT(line(Format::Json, "m", {{"v", wide}}),
             Catch::EndsWith("\"v\":\"" + std::string(kMaxValue - 1, 'x') + "...\"}"));
  CHECK(line(Format::Text, std::string(100'000, 'm')).size() < kMaxMessage + 64);
}

TEST_CASE("a field without a key is left out") {
  CHECK_THAT(line(Format::Json, "m", {{"a", 1}, {"", "b"}, {"c", 2}}),
             Catch::EndsWith(R"("msg":"m","a":1,"c":2})"));
  CHECK_THAT(line(Format::Text, "m", {{"", "b"}}), Catch::EndsWith(" m"));
}

TEST_CASE("fields never repeat the reserved names of a line") {
  const std::string text = line(Format::Json, "m", {{"msg", "a"}, {"ts", 1}, {"level", "b"}});
  json::Document document;
  CHECK_FALSE(json::parse(text, document));
  CHECK(json::findText(&document, "field.msg") == "a");
}

TEST_CASE("levels and formats of the configuration are parsed") {
  CHECK(parseLevel("debug") == Level::Debug);
  CHECK(parseLevel("error") == Level::Error);
  CHECK_FALSE(parseLevel("Info"));
  CHECK(parseFormat("text") == Format::Text);
  CHECK_FALSE(parseFormat(""));
}

TEST_CASE("levels, formats and threads") {
  for (const bool background : {false, true}) {
    CAPTURE(background);
    const std::string text = captured([&] {
      configure({Level::Info, Format::Text, background});
      static constexpr Logger kLog{"part"};
      kLog.debug("hidden");
      kLog.info("shown", {{"n", 1}});
      configure({Level::Error, Format::Text, background});
      kLog.warn("hidden");
      kLog.error("shown");
      configure({Level::Debug, Format::Text, background});
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
          for (int i = 0; i < 250; ++i) kLog.debug("from a thread", {{"i", i}});
        });
      }
      threads.clear();
      drain();
    });
    CHECK(text.find("hidden") == std::string::npos);
    CHECK_THAT(text, Catch::Contains("INFO  part: shown n=1\n") && Catch::Contains("ERROR part: shown\n"));
    CHECK(std::count(text.begin(), text.end(), '\n') == 2 + 1000);
  }
  configure({});
}

TEST_CASE("UTF-8 as in Unicode table 3-7") {
  const std::pair<std::string_view, std::size_t> table[] = {
      {"", 0},
      {"a", 1},
      {"\xC3\xA9", 2},
      {"\xE2\x82\xAC", 3},
      {"\xF4\x8F\xBF\xBF", 4},
      {"\x80", 0},
      {"\xC0\x80", 0},
      {"\xC1\xBF", 0},
      {"\xC3", 0},
      {"\xE0\x9F\xBF", 0},
      {"\xE2\x82", 0},
      {"\xED\xA0\x80", 0},
      {"\xF0\x8F\xBF\xBF", 0},
      {"\xF4\x90\x80\x80", 0},
      {"\xF5", 0},
  };
  for (const auto& [text, length] : table) {
    CAPTURE(text);
    CHECK(json::utf8Length(text) == length);
  }
}

}  // namespace dynamo::log

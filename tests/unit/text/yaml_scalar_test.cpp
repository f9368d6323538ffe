#include "common/text/yaml_scalar.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/text/yaml.h"

namespace dynamo::text {
namespace {

/// The value of `text` as JSON, or "refused".
std::string typed(std::string_view text) {
  const TextDocuments parsed = parseDocuments("v: " + std::string{text} + "\n");
  if (parsed.error || parsed.documents.size() != 1) return "refused";
  const json::Value& value = *json::findRaw(parsed.documents[0].value, "v");
  return value.IsDouble() ? fmt::format("{}", value.GetDouble()) : json::dump(value);
}

}  // namespace

// The expected values come from sigs.k8s.io/yaml 1.6.0, kubectl's parser.
TEST_CASE("scalars are typed as kubectl types them") {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"yes", "true"},
      {"no", "false"},
      {"on", "true"},
      {"off", "false"},
      {"y", "true"},
      {"n", "false"},
      {"Y", "true"},
      {"N", "false"},
      {"Yes", "true"},
      {"YES", "true"},
      {"On", "true"},
      {"TRUE", "true"},
      {"True", "true"},
      {"tRue", "\"tRue\""},
      {"true", "true"},
      {"false", "false"},
      {"0o17", "15"},
      {"0O17", "15"},
      {"017", "15"},
      {"08", "8"},
      {"09", "9"},
      {"0b101", "5"},
      {"0x1F", "31"},
      {"0X1f", "31"},
      {"-0x10", "-16"},
      {"+12", "12"},
      {"-12", "-12"},
      {"1_000", "1000"},
      {"_1", "\"_1\""},
      {"1__0", "10"},
      {"1_000.5", "1000.5"},
      {".5", "0.5"},
      {"5.", "5"},
      {"1.", "1"},
      {"-.5", "-0.5"},
      {"+.5", "0.5"},
      {"1e3", "1000"},
      {"1E3", "1000"},
      {"1e+3", "1000"},
      {"1.5e-3", "0.0015"},
      {"1e400", "\"1e400\""},
      {"inf", "\"inf\""},
      {"nan", "\"nan\""},
      {"NaN", "\"NaN\""},
      {"~", "null"},
      {"null", "null"},
      {"Null", "null"},
      {"NULL", "null"},
      {"nULL", "\"nULL\""},
      {"2001-01-01", "\"2001-01-01\""},
      {"2001-12-14t21:59:43.10-05:00", "\"2001-12-14t21:59:43.10-05:00\""},
      {"190:20:30", "\"190:20:30\""},
      {"1:30", "\"1:30\""},
      {"0:30:00", "\"0:30:00\""},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"123456789012345678901234567890", "1.2345678901234568e+29"},
      {"1.0", "1"},
      {"-0", "0"},
      {"-0.0", "0"},
      {"0.1", "0.1"},
      {"100000000000000000000.0", "1e+20"},
      {"1e21", "1e+21"},
      {"1e-7", "1e-07"},
      {"0x8000000000000000", "9223372036854775808"},
      {"0xFFFFFFFFFFFFFFFFF", "\"0xFFFFFFFFFFFFFFFFF\""},
      {"00", "0"},
      {"0", "0"},
      {"007", "7"},
      {"-017", "-15"},
      {"-0o17", "-15"},
      {"-0b11", "-3"},
      {"1e", "\"1e\""},
      {"e1", "\"e1\""},
      {"1.2.3", "\"1.2.3\""},
      {"0.", "0"},
      {"0.0", "0"},
      {"\"3\"", "\"3\""},
      {"'yes'", "\"yes\""},
      {"!!str 3", "\"3\""},
      {"!!str yes", "\"yes\""},
      {"!!int \"3\"", "3"},
      {"!!float 3", "3"},
      {"!!float \"3.5\"", "3.5"},
      {"!!bool \"yes\"", "true"},
      {"!!bool yes", "true"},
      {"!!null \"\"", "null"},
      {"!foo 3", "\"3\""},
      {"!foo bar", "\"bar\""},
      {"!!timestamp 2001-01-01", "\"2001-01-01\""},
      {"! 3", "\"3\""},
      {"=", "\"=\""},
      {"<<", "\"<<\""},
      {"0.30000000000000004", "0.30000000000000004"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"1e-400", "0"},
      {"12e03", "12000"},
      {"-1_2", "-12"},
      {"0_7", "7"},
      {"0x_1", "1"},
      {"1:20.5", "\"1:20.5\""},
      {".e1", "\".e1\""},
      {"._1", "\"._1\""},
      {"..", "\"..\""},
      {".", "\".\""},
      {"+", "\"+\""},
      {"--1", "\"--1\""},
      {"0b2", "\"0b2\""},
      {"0o8", "\"0o8\""},
      {"0xg", "\"0xg\""},
      {"0x", "\"0x\""},
      {"1,000", "\"1,000\""},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK(typed(text) == expected);
  }
}

TEST_CASE("scalars that JSON or their tag cannot represent are rejected") {
  for (const std::string_view text : {".inf", "-.inf", "+.inf", ".Inf", ".NaN", ".nan", "!!int \"x\"",
                                      "!!int 3.0", "!!null x", "!!binary aGVsbG8="}) {
    CAPTURE(text);
    CHECK(typed(text) == "refused");
  }
}

TEST_CASE("numbers beyond 64 bits become floating point numbers") {
  const std::pair<std::string_view, double> table[] = {
      {"18446744073709551616", 18446744073709551616.0},
      {"-9223372036854775809", -9223372036854775809.0},
      {"100000000000000000000.0", 1e20},
      {"123456789012345678901234567890", 1.2345678901234568e29},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    const auto resolved = resolveScalar(text, kPlainTag);
    CHECK(std::get<double>(std::get<ScalarValue>(resolved)) == expected);
  }
}

}  // namespace dynamo::text

// Texts of quantities: the ones that admission accepts, and the canonical texts of the typed API.

#include <catch2/catch.hpp>

#include "common/k8s/quantity.h"

namespace dynamo::k8s::test {
namespace {

TEST_CASE("quantities that are accepted") {
  for (const char* text : {"0",
                           "1",
                           "100m",
                           ".5",
                           "1.",
                           "1.5Gi",
                           "1E",
                           "1e3",
                           "+1",
                           "1E-3",
                           "-1",
                           "1.G",
                           "1e+3",
                           "1e-3",
                           "1E3",
                           "007",
                           "1e18",
                           "1e-18",
                           "1e003",
                           "0.5Ki",
                           "1n",
                           "1u",
                           "7Ei",
                           "1Ki",
                           "0e18",
                           "9223372036854775807",
                           "-9223372036854775807"}) {
    INFO(text);
    CHECK(quantityProblem(text) == "");
  }
  CHECK(quantityProblem("1." + std::string(1000, '0')) == "");
  CHECK(quantityProblem(std::string(1000, '0') + "1") == "");
}

TEST_CASE("quantities that are rejected") {
  const std::string rule = R"(must be a quantity such as "2", "500m" or "16Gi")";
  const std::string large = "must not exceed 9223372036854775807";
  const std::string exponent = "must have an exponent between -18 and 18";
  const auto meant = [&](const char* suffix) {
    return rule + "; did you mean the suffix \"" + suffix + "\"?";
  };
  struct Row {
    std::string text;
    std::string problem;
  };
  const Row rows[] = {
      {"", "must not be empty"},
      {" ", rule},
      {" 1", rule},
      {"1 ", rule},
      {"1 Gi", rule},
      {"1\n", rule},
      {"1gb", meant("G")},
      {"1GB", meant("G")},
      {"1GiB", meant("Gi")},
      {"1K", meant("k")},
      {"1KB", meant("k")},
      {"1mi", meant("Mi")},
      {"1MB", meant("M")},
      {"1g", meant("G")},
      {"1b", rule},
      {"1e", meant("E")},
      {"1e+", rule},
      {"1e1.5", rule},
      {"0x1", rule},
      {"1,5", rule},
      {"--1", rule},
      {"+-1", rule},
      {"1-", rule},
      {"1.2.3", rule},
      {".", rule},
      {"+", rule},
      {"-", rule},
      {"-.", rule},
      {"Ki", rule},
      {"m", rule},
      {"1m5", rule},
      {"1Gi1", rule},
      {"\xD9\xA1", rule},  // ARABIC-INDIC DIGIT ONE
      {"auto", rule},
      {"1e19", exponent},
      {"1e-19", exponent},
      {"0e99999999999999999999", exponent},
      {"9223372036854775808", large},
      {"-9223372036854775808", large},
      {"8Ei", large},
      {"10E", large},
      {"1" + std::string(1000, '0'), large},
      {"1" + std::string(1000, '0') + "Ei", large},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(quantityProblem(row.text) == row.problem);
  }
  CHECK(quantityProblem(std::string_view{"1\0", 2}) == rule);
}

TEST_CASE("canonical texts") {
  struct Row {
    const char* text;
    const char* canonical;
  };
  const Row rows[] = {
      // another suffix of the family or more digits for the same value
      {"1000m", "1"},
      {"1000", "1k"},
      {"1500", "1500"},
      {"0.5", "500m"},
      {"1.5", "1500m"},
      {"1.5G", "1500M"},
      {"0.100", "100m"},
      {"7.0", "7"},
      {"1.000", "1"},
      {"01000", "1k"},
      {"1000000", "1M"},
      {"1000k", "1M"},
      {".5", "500m"},
      {"-0.5", "-500m"},
      {"-1000m", "-1"},
      {"1.5Gi", "1536Mi"},
      {"1.500Gi", "1536Mi"},
      {"1024Mi", "1Gi"},
      {"-1024Mi", "-1Gi"},
      {"10000Mi", "10000Mi"},
      {"512Ki", "512Ki"},
      {"8Gi", "8Gi"},
      {"1048576Ki", "1Gi"},
      {"1024Pi", "1Ei"},
      {"7Ei", "7Ei"},
      // a binary text below 1024 or with a fraction becomes decimal
      {"0.5Ki", "512"},
      {"0.1Ki", "102400m"},
      {"1.1Ki", "1126400m"},
      {"0.0001Ki", "102400u"},
      // digits below nano are rounded away from zero
      {"0.0000000001", "1n"},
      {"-0.0000000001", "-1n"},
      {"1.0000000001", "1000000001n"},
      {"0.00000000001Ki", "11n"},
      // exponents keep their family
      {"12e2", "1200"},
      {"1e4", "10e3"},
      {"1E4", "10e3"},
      {"1000e3", "1e6"},
      {"1.5e3", "1500"},
      {"1.5e-3", "1500e-6"},
      {"1e-10", "1e-9"},
      {"1e18", "1e18"},
      {"0e3", "0"},
      // zero
      {"0", "0"},
      {"00", "0"},
      {"-0", "0"},
      {"+0", "0"},
      {"0Gi", "0"},
      {"0.0", "0"},
      {"0.", "0"},
      {"0m", "0"},
      // kept unchanged
      {"1e3", "1e3"},
      {"1E3", "1E3"},
      {"1e+3", "1e+3"},
      {"1E-3", "1E-3"},
      {"1e003", "1e003"},
      {"1e0", "1e0"},
      {"+1", "+1"},
      {"+5", "+5"},
      {"007", "007"},
      {"04", "04"},
      {"4.", "4."},
      {"1.G", "1.G"},
      {"1.500", "1.500"},
      {"12.345", "12.345"},
      {"01Gi", "01Gi"},
      {"+3Mi", "+3Mi"},
      {"1023Mi", "1023Mi"},
      {"1.Gi", "1.Gi"},
      {"100m", "100m"},
      {"2500m", "2500m"},
      {"1E", "1E"},
      // the fast path reads 18 digits, or 14 less 3 for each power of 1024
      {"123456789012345678", "123456789012345678"},
      {"+123456789012345678", "+123456789012345678"},
      {"+1234567890123456789", "1234567890123456789"},
      {"+99999Gi", "+99999Gi"},
      {"+100001Gi", "100001Gi"},
      {"+7Ti", "+7Ti"},
      {"+7Pi", "7Pi"},
      {"+7Ei", "7Ei"},
      // texts that are no quantities come back unchanged
      {"", ""},
      {"1 Gi", "1 Gi"},
      {"1gb", "1gb"},
      {"1e19", "1e19"},
      {"10E", "10E"},
      {"16Ei", "16Ei"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(canonicalQuantity(row.text) == row.canonical);
  }
}

TEST_CASE("a canonical text is its own canonical text, of the same value") {
  const char* suffixes[] = {"", "n", "u", "m", "k", "M", "G", "T", "e3", "e2", "Ki", "Mi", "Gi", "Ti", "E-3"};
  for (const char* number :
       {"1", "+3", "8", "0.5", "12.25", "1000", "1024", "1.125", "007", "99999", ".001"}) {
    for (const char* suffix : suffixes) {
      const std::string text = std::string{number} + suffix;
      const std::string canonical = canonicalQuantity(text);
      INFO(text << " " << canonical);
      CHECK(canonicalQuantity(canonical) == canonical);
      CHECK(parseQuantity(canonical) == parseQuantity(text));
    }
  }
}

TEST_CASE("the text of a quantity in JSON") {
  json::Document scratch;
  const auto textOf = [&](const char* json) {
    scratch.Parse(json);
    return quantityText(scratch).value_or("(none)");
  };
  CHECK(textOf(R"("1Gi")") == "1Gi");
  CHECK(textOf("10") == "10");
  CHECK(textOf("0.5") == "0.5");
  CHECK(textOf("-3") == "-3");
  CHECK(textOf("true") == "(none)");
  CHECK(textOf("null") == "(none)");
  CHECK(textOf("{}") == "(none)");
}

}  // namespace
}  // namespace dynamo::k8s::test

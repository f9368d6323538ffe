// resource.Quantity as far as specs are compared (apimachinery's grammar: sign, digits, suffix or exponent).

#include "common/k8s/quantity.h"

#include "support.h"

namespace dynamo::rules::test {
namespace {

/// The quantity in nano units, written out; "(none)" when it does not parse.
std::string nano(std::string_view text) {
  const auto quantity = k8s::parseQuantity(text);
  if (!quantity) return "(none)";
  auto value = quantity->nano;
  const bool negative = value < 0;
  std::string digits;
  do {
    const int digit = static_cast<int>(value % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    value /= 10;
  } while (value != 0);
  return (negative ? "-" : "") + digits;
}

const std::string kGiga = "000000000";

TEST_CASE("quantities that parse") {
  struct Row {
    const char* text;
    std::string nano;
  };
  const Row rows[] = {
      {"0", "0"},
      {"-0", "0"},
      {"1", "1" + kGiga},
      {"+1", "1" + kGiga},
      {"-1", "-1" + kGiga},
      {"1.", "1" + kGiga},
      {".5", "500000000"},
      {"-.5", "-500000000"},
      {"0.50", "500000000"},
      {"007", "7" + kGiga},
      {"1000m", "1" + kGiga},
      {"1m", "1000000"},
      {"1u", "1000"},
      {"1n", "1"},
      {"1500n", "1500"},
      {"0.5n", "1"},  // rounded up, away from zero
      {"-0.5n", "-1"},
      {"0.0000000001", "1"},
      {"1k", "1000" + kGiga},
      {"1M", "1000000" + kGiga},
      {"1G", "1000000000" + kGiga},
      {"1T", "1000000000000" + kGiga},
      {"1P", "1000000000000000" + kGiga},
      {"1E", "1000000000000000000" + kGiga},
      {"1Ki", "1024" + kGiga},
      {"1Mi", "1048576" + kGiga},
      {"1024Mi", "1073741824" + kGiga},
      {"1Gi", "1073741824" + kGiga},
      {"1.5Gi", "1610612736" + kGiga},
      {"1Ti", "1099511627776" + kGiga},
      {"1Pi", "1125899906842624" + kGiga},
      {"1Ei", "1152921504606846976" + kGiga},
      {"1e3", "1000" + kGiga},
      {"1E3", "1000" + kGiga},
      {"1e+3", "1000" + kGiga},
      {"1e-3", "1000000"},
      {"1.5e3", "1500" + kGiga},
      {"0e9999", "0"},
      {"1e0", "1" + kGiga},
      {"9223372036854775807", "9223372036854775807" + kGiga},
      {"-9223372036854775808", "-9223372036854775808" + kGiga},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(nano(row.text) == row.nano);
  }
}

TEST_CASE("invalid quantities and quantities out of range") {
  for (const char* text : {"",
                           " ",
                           "+",
                           "-",
                           ".",
                           "-.",
                           "m",
                           "Gi",
                           "1 ",
                           " 1",
                           "1 Gi",
                           "1gi",
                           "1ki",
                           "1K",
                           "1KI",
                           "1mi",
                           "1Mib",
                           "1e",
                           "1e+",
                           "1e1.5",
                           "1ee1",
                           "1e3Gi",
                           "1Gie3",
                           "1e 3",
                           "--1",
                           "+-1",
                           "1-",
                           "0x10",
                           "1,5",
                           "1.2.3",
                           "1_000",
                           "NaN",
                           "Inf",
                           "\xC2\xB5",
                           "1\xC2\xB5",
                           "1e99",
                           "1e9999999999",
                           "1000000000000Ei",
                           "99999999999999999999999999999999999999999999"}) {
    INFO(text);
    CHECK(nano(text) == "(none)");
  }
  CHECK(nano(std::string{"1\0", 2}) == "(none)");
  CHECK(nano(std::string(100'000, '0') + "1") == "1" + kGiga);
  CHECK(nano("0." + std::string(100'000, '0')) == "0");
  CHECK(nano("1." + std::string(20, '0')) == "1" + kGiga);
}

TEST_CASE("equal quantities") {
  struct Row {
    const char* a;
    const char* b;
    bool same;
  };
  const Row rows[] = {
      {R"("1024Mi")", R"("1Gi")", true},
      {R"("1Gi")", R"("1G")", false},
      {"2", R"("2")", true},
      {"0.5", R"("500m")", true},
      {"1e3", R"("1k")", true},
      {R"("0")", R"("0Gi")", true},
      {R"("1")", R"("1.0")", true},
      {R"("x")", R"("x")", true},
      {R"("x")", R"("y")", false},
      {R"("x")", R"("1")", false},
      {"true", "true", true},
      {"{}", R"("1")", false},
      {"[1]", "[1]", true},
      {"[1]", "[2]", false},
      {"-1", R"("-1")", true},
      {R"("1e60")", R"("1e60")", true},
      {R"("1e60")", R"("1e61")", false},
  };
  for (const Row& row : rows) {
    INFO(row.a << " " << row.b);
    CHECK(k8s::sameQuantity(object(row.a), object(row.b)) == row.same);
    CHECK(k8s::sameQuantity(object(row.b), object(row.a)) == row.same);
  }
}

}  // namespace
}  // namespace dynamo::rules::test

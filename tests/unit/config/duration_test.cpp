#include "common/k8s/duration.h"

#include <catch2/catch.hpp>

namespace dynamo::k8s {

TEST_CASE("durations parse and print as in Go") {
  struct Row {
    std::string_view text;
    std::int64_t nanoseconds;
    std::string_view printed;
  };
  const Row table[] = {
      {"0", 0, "0s"},
      {"-0", 0, "0s"},
      {"0s", 0, "0s"},
      {"30s", 30'000'000'000, "30s"},
      {"15m", 900'000'000'000, "15m0s"},
      {"4h", 14'400'000'000'000, "4h0m0s"},
      {"1h30m", 5'400'000'000'000, "1h30m0s"},
      {"1.5h", 5'400'000'000'000, "1h30m0s"},
      {"-1.5h", -5'400'000'000'000, "-1h30m0s"},
      {"1h1h", 7'200'000'000'000, "2h0m0s"},
      {"100ms", 100'000'000, "100ms"},
      {".5s", 500'000'000, "500ms"},
      {"1.s", 1'000'000'000, "1s"},
      {"+5s", 5'000'000'000, "5s"},
      {"1us", 1'000, "1\u00B5s"},
      {"1\u00B5s", 1'000, "1\u00B5s"},
      {"1\u03BCs", 1'000, "1\u00B5s"},
      {"1001ns", 1'001, "1.001\u00B5s"},
      {"1500us", 1'500'000, "1.5ms"},
      {"999ns", 999, "999ns"},
      {"1m30.5s", 90'500'000'000, "1m30.5s"},
      {"3600s", 3'600'000'000'000, "1h0m0s"},
      {"0.3333333333333333333h", 1'200'000'000'000, "20m0s"},
      {"0.9223372036854775807h", 3'320'413'933'267, "55m20.413933267s"},
      {"0.100000000000000000000h", 360'000'000'000, "6m0s"},
      {"9007199254740993ns", 9'007'199'254'740'993, "2501h59m59.254740993s"},
      {"9223372036854775807ns", INT64_MAX, "2562047h47m16.854775807s"},
      {"-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s"},
  };
  for (const Row& row : table) {
    CAPTURE(row.text);
    const auto duration = parseDuration(row.text);
    REQUIRE(duration);
    CHECK(duration->count() == row.nanoseconds);
    CHECK(formatDuration(*duration) == row.printed);
    CHECK(parseDuration(formatDuration(*duration)) == duration);
  }
}

TEST_CASE("invalid durations are rejected") {
  for (const std::string_view text : {"",
                                      "s",
                                      ".",
                                      ".s",
                                      "1",
                                      "30",
                                      "1d",
                                      "1 s",
                                      " 1s",
                                      "1s ",
                                      "1S",
                                      "1h-30m",
                                      "+",
                                      "-",
                                      "--1s",
                                      "1e3s",
                                      "9223372036854775808ns",
                                      "2562047h47m16.854775808s",
                                      "3000000h",
                                      "99999999999999999999s",
                                      "-9223372036854775808ns9223372036854775808ns"}) {
    CAPTURE(text);
    CHECK_FALSE(parseDuration(text));
  }
}

}  // namespace dynamo::k8s

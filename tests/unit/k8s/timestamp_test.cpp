#include "common/k8s/timestamp.h"

#include <catch2/catch.hpp>
#include <string>

namespace dynamo::k8s {

TEST_CASE("RFC 3339 is read with fractions and offsets, and written in UTC") {
  struct Row {
    const char* text;
    const char* time;  ///< as MicroTime; empty: refused
  };
  const Row row = GENERATE(values<Row>({
      {"2026-11-23T07:29:43Z", "2026-11-23T07:29:43.000000Z"},
      {"2026-11-23t07:29:43z", "2026-11-23T07:29:43.000000Z"},
      {"2026-11-23T07:29:43.5Z", "2026-11-23T07:29:43.500000Z"},
      {"2026-11-23T07:29:43.000001Z", "2026-11-23T07:29:43.000001Z"},
      {"2026-11-23T07:29:43.123456789Z", "2026-11-23T07:29:43.123456Z"},
      {"2026-11-23T07:29:43+02:00", "2026-11-23T05:29:43.000000Z"},
      {"2026-12-31T23:29:43.25-01:30", "2027-01-01T00:59:43.250000Z"},
      {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"},
      {"1969-12-31T23:59:59.75Z", "1969-12-31T23:59:59.750000Z"},
      {"2025-02-29T00:00:00Z", ""},
      {"2026-13-01T00:00:00Z", ""},
      {"2026-11-23T24:00:00Z", ""},
      {"2026-11-23T07:60:00Z", ""},
      {"2026-11-23T07:29:60Z", ""},
      {"2026-11-23T07:29:43", ""},
      {"2026-11-23T07:29:43.Z", ""},
      {"2026-11-23T07:29:43+0200", ""},
      {"2026-11-23T07:29:43+24:00", ""},
      {"2026-11-23T07:29:43Z ", ""},
      {"2026-11-23 07:29:43Z", ""},
      {"26-11-23T07:29:43Z", ""},
      {"2026-11-2xT07:29:43Z", ""},
      {"", ""},
  }));
  CAPTURE(row.text);
  const auto time = parseTimestamp(row.text);
  CHECK((time ? formatMicroTime(*time) : "") == row.time);
}

TEST_CASE("a metav1.Time has whole seconds") {
  const auto time = parseTimestamp("2026-11-23T07:29:43.999999Z");
  REQUIRE(time);
  CHECK(formatTime(*time) == "2026-11-23T07:29:43Z");
}

}  // namespace dynamo::k8s

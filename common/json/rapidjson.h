#pragma once
// The only header that includes RapidJSON, because its macros must be the same in every translation unit.

#include <cstddef>
#include <stdexcept>

// A failed precondition, such as access as a wrong type, is a programming error. It throws, so that no
// request can cause undefined behaviour in a release build.
#define RAPIDJSON_ASSERT(x) \
  ((x) ? static_cast<void>(0) : throw std::logic_error("JSON value used as another type: " #x))
#define RAPIDJSON_HAS_STDSTRING 1

// With this switch the reader scans strings 16 bytes at a time. It would then accept control characters from
// 0x1A on, but guard() has refused them before. RapidJSON's writer would write them unescaped, so it is
// compiled without the switch.
#ifdef __SSE2__
#define RAPIDJSON_SSE2
#endif

// RapidJSON 1.1.0 converts some long numbers wrongly: where a shift is a multiple of 64 bits it moves the
// wrong words and reads uninitialized ones, and it reads 184467440737095516155 as zero. This switch leaves
// out its header for the conversion of digits to doubles; number.cpp replaces it.
#define RAPIDJSON_STRTOD_
namespace rapidjson::internal {
double StrtodFullPrecision(double approximate, int power, const char* digits, std::size_t length,
                           std::size_t decimalPosition, int exponent);
double StrtodNormalPrecision(double significand, int power);
}  // namespace rapidjson::internal

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <rapidjson/reader.h>
#undef RAPIDJSON_SSE2
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/internal/dtoa.h>
#include <rapidjson/internal/itoa.h>
#include <rapidjson/pointer.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#pragma GCC diagnostic pop

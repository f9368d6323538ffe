#include "common/runtime/reply_text.h"

#include <array>
#include <charconv>

namespace dynamo::runtime {
namespace {

struct StatusText {
  int code;
  std::string_view phrase;  ///< reason phrase of the status line
  std::string_view reason;  ///< metav1.StatusReason; empty if Kubernetes has none
};

constexpr std::array<StatusText, 18> kTexts{{
    {200, "OK", ""},
    {204, "No Content", ""},
    {400, "Bad Request", "BadRequest"},
    {401, "Unauthorized", "Unauthorized"},
    {403, "Forbidden", "Forbidden"},
    {404, "Not Found", "NotFound"},
    {405, "Method Not Allowed", "MethodNotAllowed"},
    {408, "Request Timeout", "Timeout"},
    {411, "Length Required", "BadRequest"},
    {413, "Content Too Large", "RequestEntityTooLarge"},
    {415, "Unsupported Media Type", "UnsupportedMediaType"},
    {417, "Expectation Failed", "BadRequest"},
    {422, "Unprocessable Content", "Invalid"},
    {429, "Too Many Requests", "TooManyRequests"},
    {431, "Request Header Fields Too Large", "BadRequest"},
    {500, "Internal Server Error", "InternalError"},
    {503, "Service Unavailable", "ServiceUnavailable"},
    {505, "HTTP Version Not Supported", "BadRequest"},
}};

constexpr StatusText textOf(int code) {
  for (const auto& text : kTexts) {
    if (text.code == code) return text;
  }
  return {code, "Status", ""};
}

void appendNumber(std::string& out, std::size_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void appendEscaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // Bytes above ASCII may be invalid UTF-8. Latin-1 escapes make the reply valid JSON in any case.
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
}

}  // namespace

std::string statusBody(int status, std::string_view message) {
  std::string body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")";
  appendEscaped(body, message);
  if (const auto reason = textOf(status).reason; !reason.empty()) {
    body += R"(","reason":")";
    body += reason;
  }
  body += R"(","code":)";
  appendNumber(body, static_cast<std::size_t>(status));
  body += "}\n";
  return body;
}

void appendHead(std::string& out, const ReplyForm& form, std::size_t bodyBytes) {
  out += "HTTP/1.1 ";
  appendNumber(out, static_cast<std::size_t>(form.status));
  out += ' ';
  out += textOf(form.status).phrase;
  out += "\r\nContent-Type: ";
  out += form.contentType;
  out += "\r\nContent-Length: ";
  appendNumber(out, bodyBytes);
  if (!form.allow.empty()) {
    out += "\r\nAllow: ";
    out += form.allow;
  }
  if (form.status == 401) out += "\r\nWWW-Authenticate: Bearer";
  // With Retry-After, Go's client for Kubernetes retries the request, even a POST.
  if (form.status == 503) out += "\r\nRetry-After: 1";
  out += form.keepAlive ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n";
}

}  // namespace dynamo::runtime

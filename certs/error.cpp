#include "certs/error.h"

namespace dynamo::certs {

std::string_view toString(Problem problem) {
  switch (problem) {
    case Problem::None:
      return "None";
    case Problem::Missing:
      return "Missing";
    case Problem::Unreadable:
      return "Unreadable";
    case Problem::Empty:
      return "Empty";
    case Problem::TooLarge:
      return "TooLarge";
    case Problem::NotPem:
      return "NotPem";
    case Problem::Malformed:
      return "Malformed";
    case Problem::Encrypted:
      return "Encrypted";
    case Problem::KeyMismatch:
      return "KeyMismatch";
    case Problem::Expired:
      return "Expired";
    case Problem::NotYetValid:
      return "NotYetValid";
    case Problem::Untrusted:
      return "Untrusted";
    case Problem::WrongName:
      return "WrongName";
    case Problem::WrongUsage:
      return "WrongUsage";
    case Problem::TooWeak:
      return "TooWeak";
    case Problem::InvalidInput:
      return "InvalidInput";
    case Problem::Exists:
      return "Exists";
    case Problem::Internal:
      return "Internal";
  }
  return "Internal";
}

}  // namespace dynamo::certs

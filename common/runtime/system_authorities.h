#pragma once
// Where the CA certificates of the system are.

#include <functional>
#include <string>

namespace dynamo::runtime {

/// The path of a bundle of the CA certificates of the system, in PEM. Empty: OpenSSL finds them by itself,
/// because SSL_CERT_FILE or SSL_CERT_DIR says where they are or its own default exists, or there are none. A
/// program that was built on one distribution has the default of that one.
std::string systemBundle(const std::function<bool(const char* path)>& exists,
                         const std::function<const char*(const char* name)>& variable);

}  // namespace dynamo::runtime

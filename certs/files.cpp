#include "certs/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "certs/pem.h"

namespace dynamo::certs {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_{value} {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

std::string reasonOf(int code) {
  return std::generic_category().message(code);
}

Error fileError(Problem problem, const std::filesystem::path& path, int code) {
  return Error{problem, fmt::format("{}: {}", path.string(), reasonOf(code))};
}

bool writeAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::optional<Error> writeFile(const std::filesystem::path& path, std::string_view text, mode_t mode) {
  std::string temporary = path.string() + ".XXXXXX";
  const Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.get() < 0) return fileError(Problem::Unreadable, path, errno);
  // mkostemp makes 0600 whatever the umask, so a key is never readable by others, not even for a moment.
  const bool done = writeAll(file.get(), text) && ::fchmod(file.get(), mode) == 0 &&
                    ::fsync(file.get()) == 0 && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (done) return std::nullopt;
  const int code = errno;
  ::unlink(temporary.c_str());
  return fileError(Problem::Unreadable, path, code);
}

struct Entry {
  const char* name;
  const std::string& text;
  mode_t mode;
};

}  // namespace

DirectorySnapshot::DirectorySnapshot(const std::filesystem::path& directory)
    : directory_{directory},
      descriptor_{::open((directory / "..data").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)} {
  if (descriptor_ < 0) descriptor_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) failure_ = errno;
}

DirectorySnapshot::~DirectorySnapshot() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> DirectorySnapshot::read(const char* name) const {
  const std::filesystem::path path = directory_ / name;
  if (descriptor_ < 0 && failure_ != ENOENT) return fileError(Problem::Unreadable, directory_, failure_);
  if (descriptor_ < 0)
    return Error{Problem::Missing, fmt::format("{}: no such directory", directory_.string())};
  const Descriptor file{::openat(descriptor_, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.get() < 0) return fileError(errno == ENOENT ? Problem::Missing : Problem::Unreadable, path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fileError(Problem::Unreadable, path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error{Problem::Unreadable, fmt::format("{}: is not a regular file", path.string())};
  }
  // One byte over the size tells the end. The size is not trusted, as it may change under us: one byte over
  // the cap tells "too large".
  std::string text(std::min(static_cast<std::size_t>(status.st_size), kMaxPemBytes) + 1, '\0');
  std::size_t used = 0;
  while (used <= kMaxPemBytes) {
    if (used == text.size()) text.resize(kMaxPemBytes + 1);
    const ssize_t got = ::read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fileError(Problem::Unreadable, path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  if (used == 0) return Error{Problem::Empty, fmt::format("{}: is empty", path.string())};
  if (used > kMaxPemBytes) {
    return Error{Problem::TooLarge, fmt::format("{}: is larger than {} bytes", path.string(), kMaxPemBytes)};
  }
  text.resize(used);
  return text;
}

std::optional<Error> writeFiles(const std::filesystem::path& directory, const CertificateData& data,
                                Overwrite overwrite) {
  constexpr mode_t kPublic = 0644;
  constexpr mode_t kPrivate = 0600;
  const std::array<Entry, 4> entries{Entry{kCaCertificateFile, data.ca.certificate, kPublic},
                                     Entry{kCaKeyFile, data.ca.privateKey, kPrivate},
                                     Entry{kKeyFile, data.serving.privateKey, kPrivate},
                                     Entry{kCertificateFile, data.serving.certificate, kPublic}};
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) return fileError(Problem::Unreadable, directory, failure.value());
  for (const Entry& entry : entries) {
    const bool exists =
        std::filesystem::exists(std::filesystem::symlink_status(directory / entry.name, failure));
    if (overwrite == Overwrite::Refuse && !entry.text.empty() && exists) {
      return Error{Problem::Exists, fmt::format("{}: exists already", (directory / entry.name).string())};
    }
  }
  for (const Entry& entry : entries) {
    if (entry.text.empty()) continue;
    if (auto error = writeFile(directory / entry.name, entry.text, entry.mode)) return error;
  }
  return std::nullopt;
}

}  // namespace dynamo::certs

#include "certs/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

/// Renames a file. Returns 0 or an errno; EEXIST if `to` already exists.
int renameToNew(const char* from, const char* to) {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Some file systems, such as NFS, do not support RENAME_NOREPLACE. A hard link does not replace a file
  // either.
  if (::link(from, to) != 0) return errno;
  ::unlink(from);
  return 0;
}

int renameOver(const char* from, const char* to) {
  return std::rename(from, to) == 0 ? 0 : errno;
}

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
  // One byte more than the size is read to detect the end of the file. The file may grow in the meantime, so
  // at most one byte more than the limit is read to detect a file that is too large.
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

StagedFiles::StagedFiles(const std::filesystem::path& directory, const CertificateData& data) {
  constexpr mode_t kPublic = 0644;
  constexpr mode_t kPrivate = 0600;
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) {
    error_ = fileError(Problem::Unreadable, directory, failure.value());
    return;
  }
  // Every run writes tls.key first. Of several concurrent runs, only the first one to place it continues, and
  // the others place nothing. ca.crt is placed last, so all other files exist when it does.
  stage(directory / kKeyFile, data.serving.privateKey, kPrivate);
  stage(directory / kCertificateFile, data.serving.certificate, kPublic);
  stage(directory / kCaKeyFile, data.ca.privateKey, kPrivate);
  stage(directory / kCaCertificateFile, data.ca.certificate, kPublic);
}

StagedFiles::~StagedFiles() {
  for (const File& file : files_) {
    if (!file.placed) ::unlink(file.temporary.c_str());
  }
}

void StagedFiles::stage(const std::filesystem::path& path, std::string_view text, unsigned mode) {
  if (error_ || text.empty()) return;
  std::string temporary = path.string() + ".XXXXXX";
  const Descriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.get() < 0) {
    error_ = fileError(Problem::Unreadable, path, errno);
    return;
  }
  files_.push_back({temporary, path});
  // mkostemp creates the file with mode 0600 regardless of the umask, so a key is never readable by others.
  if (!writeAll(file.get(), text) || ::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0) {
    error_ = fileError(Problem::Unreadable, path, errno);
  }
}

std::optional<Error> StagedFiles::place(Overwrite overwrite) {
  if (error_) return error_;
  const auto rename = overwrite == Overwrite::Allow ? renameOver : renameToNew;
  for (File& file : files_) {
    const int code = rename(file.temporary.c_str(), file.path.c_str());
    file.placed = code == 0;
    if (file.placed) continue;
    if (overwrite == Overwrite::Refuse) rollBack();
    if (code != EEXIST) return fileError(Problem::Unreadable, file.path, code);
    return Error{Problem::Exists, fmt::format("{}: already exists", file.path.string())};
  }
  return std::nullopt;
}

void StagedFiles::rollBack() const {
  for (const File& file : files_) {
    if (file.placed) ::unlink(file.path.c_str());
  }
}

std::optional<Error> writeFiles(const std::filesystem::path& directory, const CertificateData& data,
                                Overwrite overwrite) {
  return StagedFiles{directory, data}.place(overwrite);
}

}  // namespace dynamo::certs

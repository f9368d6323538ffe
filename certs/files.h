#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/rotate.h"

namespace dynamo::certs {

/// File names in a certificate directory, equal to the keys of the Secret.
inline constexpr const char* kCaCertificateFile = "ca.crt";
inline constexpr const char* kCaKeyFile = "ca.key";
inline constexpr const char* kCertificateFile = "tls.crt";
inline constexpr const char* kKeyFile = "tls.key";

/// Keeps a directory open, so that several files are read from the same version of a Secret volume. The
/// kubelet swaps the symlink `..data`, so two reads by path could see two versions.
class DirectorySnapshot {
 public:
  /// Opens `directory/..data` if it exists, or else `directory`. read() reports a failure: Missing if the
  /// directory does not exist, or else Unreadable.
  explicit DirectorySnapshot(const std::filesystem::path& directory);
  ~DirectorySnapshot();
  DirectorySnapshot(const DirectorySnapshot&) = delete;
  DirectorySnapshot& operator=(const DirectorySnapshot&) = delete;

  /// Returns the content of a regular file of at most kMaxPemBytes. Never blocks on a pipe or device.
  /// Errors: Missing, Unreadable, Empty, TooLarge. Error texts start with the path.
  Result<std::string> read(const char* name) const;

 private:
  std::filesystem::path directory_;
  int descriptor_;
  int failure_ = 0;  ///< errno of opening the directory
};

enum class Overwrite { Refuse, Allow };

/// Writes the files of a certificate directory under temporary names first. The destructor removes files that
/// have not been renamed to their final names.
class StagedFiles {
 public:
  /// Writes the non-empty members of `data` to `directory`, which is created if needed: certificates with
  /// mode 0644, keys with 0600, each with fsync. place() reports a failure.
  StagedFiles(const std::filesystem::path& directory, const CertificateData& data);
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  /// Renames the files to their final names, so that readers never see a partial file. Must be called at most
  /// once. With Overwrite::Refuse the rename fails if the final name exists, even if it was just created, and
  /// the files renamed before are removed. Errors: Exists, Unreadable.
  std::optional<Error> place(Overwrite overwrite);

 private:
  struct File {
    std::string temporary;
    std::filesystem::path path;
    bool placed = false;
  };
  void stage(const std::filesystem::path& path, std::string_view text, unsigned mode);
  void rollBack() const;

  std::vector<File> files_;
  std::optional<Error> error_;
};

/// Stages and places the files in one call.
std::optional<Error> writeFiles(const std::filesystem::path& directory, const CertificateData& data,
                                Overwrite overwrite);

}  // namespace dynamo::certs

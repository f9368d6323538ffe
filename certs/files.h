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

/// A directory held open, so that several files are read from the same version of a Secret volume: the
/// kubelet swaps the symlink `..data`, and two reads by path could meet two versions.
class DirectorySnapshot {
 public:
  /// Opens `directory/..data` when it exists, else `directory`; a failure shows in read(), as Missing where
  /// there is no such directory, as Unreadable otherwise.
  explicit DirectorySnapshot(const std::filesystem::path& directory);
  ~DirectorySnapshot();
  DirectorySnapshot(const DirectorySnapshot&) = delete;
  DirectorySnapshot& operator=(const DirectorySnapshot&) = delete;

  /// Content of a regular file, never more than kMaxPemBytes. Never blocks on a pipe or device.
  /// Errors: Missing, Unreadable, Empty, TooLarge; the text starts with the path.
  Result<std::string> read(const char* name) const;

 private:
  std::filesystem::path directory_;
  int descriptor_;
  int failure_ = 0;  ///< errno of opening the directory
};

enum class Overwrite { Refuse, Allow };

/// Files of a certificate directory, written whole under temporary names beside their places. What has not
/// been placed is removed with the object.
class StagedFiles {
 public:
  /// Stages the non-empty members of `data` in `directory` (made if absent): certificates 0644, keys 0600,
  /// each synchronised. A failure shows in place().
  StagedFiles(const std::filesystem::path& directory, const CertificateData& data);
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  /// Renames them to their places, so a reader never meets half a file; to be called once. With
  /// Overwrite::Refuse the rename itself refuses a name that is taken, whoever took it and when, and those
  /// before it are taken back. Errors: Exists, Unreadable.
  std::optional<Error> place(Overwrite overwrite);

 private:
  struct File {
    std::string temporary;
    std::filesystem::path path;
    bool placed = false;
  };
  void stage(const std::filesystem::path& path, std::string_view text, unsigned mode);
  void takeBack() const;

  std::vector<File> files_;
  std::optional<Error> error_;
};

/// Stages and places at once.
std::optional<Error> writeFiles(const std::filesystem::path& directory, const CertificateData& data,
                                Overwrite overwrite);

}  // namespace dynamo::certs

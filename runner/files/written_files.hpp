// Which files a command writes, beside those that it reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// The path of the folder above; empty for a path of one name.
[[nodiscard]] std::string parent_of(const std::string& path);

/// A file as it was given: by which option ("--stats"; "" for an argument without one), and its path; empty: not given.
struct GivenFile {
  std::string option, path;
};

/// Error(file) if the file that is to be written by that option has no folder, or is one; errors as FileSystem::write
/// if it cannot be written. Links, pipes and devices are not tried.
void check_written_file(std::string_view option, const std::string& file);
/// The same for a folder that is to be made, or is there, and gets files: Error(file) if it, or one above it, is a
/// file.
void check_written_folder(std::string_view option, const std::string& folder);

/// Error(usage) when a file that is to be written is one that is read, or another that is to be written, through links
/// as well. Terminals, pipes and devices may be given several times.
void require_apart(const std::vector<GivenFile>& read, const std::vector<GivenFile>& written);

}  // namespace ferry

// Checks the files that a command will write, also against the files that it reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// The path of the parent folder; empty for a path of one name.
[[nodiscard]] std::string parent_of(const std::string& path);

/// A file as given on the command line: the option ("--stats"; "" for an argument without one) and the path, empty if
/// the file is not given.
struct GivenFile {
  std::string option, path;
};

/// Error(file) if the file that the option will write has no folder, or is a folder; errors as FileSystem::write if it
/// cannot be written. Links, pipes and devices are not tried.
void check_written_file(std::string_view option, const std::string& file);
/// The same for a folder that exists or will be made, and in which files will be written: Error(file) if the folder, or
/// a folder above it, is a file.
void check_written_folder(std::string_view option, const std::string& folder);

/// Error(usage) if a file that will be written is also read, or is written twice, even through links. Terminals, pipes
/// and devices may be given several times.
void require_distinct_files(const std::vector<GivenFile>& read, const std::vector<GivenFile>& written);

}  // namespace ferry

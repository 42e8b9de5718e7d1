// Which files a command writes, beside those that it reads.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ferry {

/// A file as it was given: by which option ("--stats"; "" for an argument without one), and its path; empty: not given.
struct GivenFile {
  std::string option, path;
};

/// Error(usage) when a file that is to be written is one that is read, or another that is to be written, through links
/// as well. Terminals, pipes and devices may be given several times.
void require_apart(const std::vector<GivenFile>& read, const std::vector<GivenFile>& written);

}  // namespace ferry

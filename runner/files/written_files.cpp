#include "runner/files/written_files.hpp"

#include <map>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/process/process_state.hpp"

namespace ferry {
namespace {

std::string shown(const GivenFile& file) {
  return formatted("{}{}", file.option.empty() ? "" : file.option + " ", file.path);
}

std::string option_text(std::string_view option, const std::string& path) {
  return formatted("{} {:?}", option, path);
}

/// Throws an Error, with the note `given`, if no file can be made in the folder. `folder` ends in a slash or is empty.
void try_folder(const std::string& folder, const std::string& given) {
  const std::string probe = folder + ".ferry-probe-" + std::to_string(this_process().pid);
  try {
    local_files().write(probe, std::string_view());
    local_files().remove(probe);
  } catch (Error& error) {
    throw error.note("for " + given);
  }
}

}  // namespace

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

void check_written_folder(std::string_view option, const std::string& folder) {
  const std::string given = option_text(option, folder);
  std::string there = normal_path(folder);
  const bool of_root = there.starts_with("/");
  while (!there.empty() && !local_files().exists(there)) there = parent_of(there);
  if (!there.empty() && !local_files().is_folder(there))
    throw Error(Code::file, "{}: {:?} is no folder", as_is(given), there).hint("give another folder");
  try_folder(there.empty() && !of_root ? there : there + "/", given);
}

void check_written_file(std::string_view option, const std::string& file) {
  const std::string given = option_text(option, file), folder = file.substr(0, file.rfind('/') + 1);
  if (!folder.empty() && !local_files().is_folder(folder))
    throw Error(Code::file, given + ": its folder is not there").hint("make it first, on the host of task 0");
  if (local_files().is_folder(file)) throw Error(Code::file, given + ": this is a folder").hint("give a file in it");
  if (!file_identity(file).empty() && !local_files().is_link(file)) try_folder(folder, given);
}

void require_distinct_files(const std::vector<GivenFile>& read, const std::vector<GivenFile>& written) {
  std::map<std::string, const GivenFile*> known;
  for (const GivenFile& file : read)
    if (std::string identity = file_identity(file.path); !identity.empty()) known.try_emplace(identity, &file);
  for (const GivenFile& file : written) {
    const std::string identity = file_identity(file.path);
    if (identity.empty()) continue;
    const auto [other, fresh] = known.try_emplace(identity, &file);
    if (!fresh)
      throw Error(Code::usage,
                  shown(file) + ": the same file as " + shown(*other->second) + ", which it would overwrite")
          .hint("another file for " + file.option);
  }
}

}  // namespace ferry

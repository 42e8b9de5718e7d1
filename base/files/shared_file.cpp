#include "base/files/shared_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/process/descriptor.hpp"
#include "base/random_bytes.hpp"

namespace ferry {
namespace {

Error unusable(const std::string& path, const std::string& what, int error) {
  return {Code::file, formatted("{:?}: {}: {}", path, as_is(what), std::generic_category().message(error))};
}

}  // namespace

std::optional<std::string> shared_text(const std::string& folder, const std::string& name, std::size_t limit) {
  // Over NFS, opening the folder makes the system ask the server again for a file that did not exist before.
  const Descriptor place(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.open()) throw unusable(folder, "the folder cannot be opened", errno);
  const Descriptor file(::openat(place.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.open() && (errno == ENOENT || errno == ESTALE)) return std::nullopt;
  if (!file.open()) throw unusable(name, "cannot be opened", errno);
  struct stat about {};
  if (::fstat(file.get(), &about) == 0 && !S_ISREG(about.st_mode))
    throw Error(Code::file, "{:?}: is no regular file", name);
  std::string text(limit, '\0');
  const ssize_t count = ::read(file.get(), text.data(), text.size());
  if (count < 0 && errno != ESTALE) throw unusable(name, "cannot be read", errno);
  if (count <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(count));
  return text;
}

bool make_shared_text(const std::string& path, std::string_view content) {
  std::array<std::byte, 16> random;
  fill_at_random(random);
  const std::string temporary = path + "." + hex_digest(random) + ".tmp";
  local_files().write(temporary, content);
  struct stat about {};
  const bool linked = ::link(temporary.c_str(), path.c_str()) == 0;
  // Over NFS, link() may report an error although the server has made the link. Over sshfs it reports EPERM, and not
  // EEXIST, if the name exists.
  const bool made = linked || (::stat(temporary.c_str(), &about) == 0 && about.st_nlink > 1);
  if (!made && ::lstat(path.c_str(), &about) != 0) {  // the file system has no hard links
    local_files().move_file(temporary, path);
    return true;
  }
  ::unlink(temporary.c_str());
  return made;
}

}  // namespace ferry

#include "base/files/shared_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/process/descriptor.hpp"

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

}  // namespace ferry

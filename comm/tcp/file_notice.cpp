// A notice that is a file, in a folder that all hosts of the job share.
#include "base/files/files.hpp"
#include "base/files/shared_file.hpp"
#include "base/format.hpp"
#include "base/net/socket.hpp"
#include "comm/tcp/notice.hpp"

namespace ferry::tcp {
namespace {

constexpr const char* kWhichFile = "file:/FOLDER/NAME, in a folder that all hosts share and task 0 may write";

class FileNotice final : public Notice {
 public:
  FileNotice(std::string folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {}

  [[nodiscard]] std::string where() const override { return formatted("file:{:.200}", path()); }
  [[nodiscard]] Address here(const Deadline&) override { return net::choose_address(net::host_addresses()); }

  [[nodiscard]] bool put(const std::string& text, const Deadline& deadline) override {
    try {
      if (make_shared_text(path(), text)) return true;
      if (get(deadline)) return false;
      local_files().write(path(), text);  // an empty file, or a dangling link, is there
      return true;
    } catch (const Error& error) {
      throw failed(error.code(), error);
    }
  }

  [[nodiscard]] std::optional<std::string> get(const Deadline&) override {
    try {
      return shared_text(folder_, name_, kLongestNotice + 1);
    } catch (const Error& error) {
      throw failed(Code::usage, error);
    }
  }

  void remove(const std::string& text, const Deadline& deadline) override {
    if (get(deadline) == text) local_files().remove(path());
  }

 private:
  [[nodiscard]] std::string path() const { return folder_ + name_; }
  [[nodiscard]] Error failed(Code code, const Error& why) const {
    return Error(code, "rendezvous by " + where() + ": " + why.text()).hint(kWhichFile);
  }

  std::string folder_, name_;  // the folder with its slash
};

}  // namespace

std::unique_ptr<Notice> file_notice(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (!path.starts_with('/') || slash + 1 == path.size())
    throw Error(Code::usage, "FERRY_RENDEZVOUS=file:{}: not the absolute path of a file", path).hint(kWhichFile);
  return std::make_unique<FileNotice>(std::string(path.substr(0, slash + 1)), std::string(path.substr(slash + 1)));
}

}  // namespace ferry::tcp

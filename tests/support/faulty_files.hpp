// The machine's file system, but one change fails.
#pragma once

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files/files.hpp"

namespace ferry::test {

/// The change with the number `at` (from 0) fails. Thread-safe.
class FaultyFiles : public FileSystem {
 public:
  enum class Fault {
    full,  ///< it finds the disk full and changes nothing; later ones succeed
    crash  ///< it stops half way, and all later ones fail, as if the process were gone
  };
  FaultyFiles(int at, Fault fault) : at_(at), fault_(fault) {}

  [[nodiscard]] bool broken() const { return changes_ > at_; }
  std::function<void()> before_write;  ///< called before each write()
  std::vector<std::string> fixed;      ///< paths that contain one of these can be neither renamed nor removed

  using FileSystem::write;
  FileBytes read(const std::string& path, std::uint64_t limit) override { return local_files().read(path, limit); }
  std::unique_ptr<FileReader> open(const std::string& path) override { return local_files().open(path); }
  FileBytes read_beneath(const std::string& root, std::string_view relative, std::uint64_t limit) override {
    return local_files().read_beneath(root, relative, limit);
  }
  std::unique_ptr<FileReader> open_beneath(const std::string& root, std::string_view relative) override {
    return local_files().open_beneath(root, relative);
  }
  bool exists(const std::string& path) override { return local_files().exists(path); }
  bool is_folder(const std::string& path) override { return local_files().is_folder(path); }
  bool is_link(const std::string& path) override { return local_files().is_link(path); }
  std::vector<std::string> list(const std::string& path) override { return local_files().list(path); }

  void write(const std::string& path, std::span<const std::span<const std::byte>> pieces) override {
    if (before_write) before_write();
    change([&] { local_files().write(path, pieces); },
           [&] {
             const auto first = pieces.empty() ? std::span<const std::byte>() : pieces.front();
             local_files().write(path, first.first(first.size() / 2));
           });
  }
  void append(const std::string& path, std::string_view content) override {
    change([&] { local_files().append(path, content); },
           [&] { local_files().append(path, content.substr(0, content.size() / 2)); });
  }
  void make_folders(const std::string& path) override {
    change([&] { local_files().make_folders(path); }, [] {});
  }
  void rename_folder(const std::string& from, const std::string& to) override {
    require_loose(from);
    change([&] { local_files().rename_folder(from, to); }, [] {});
  }
  void move_file(const std::string& from, const std::string& to) override {
    change([&] { local_files().move_file(from, to); }, [] {});
  }
  void remove(const std::string& path) override {
    require_loose(path);
    change([&] { local_files().remove(path); },
           [&] {
             if (!std::filesystem::is_directory(path)) return;
             const std::vector<std::string> inside = list(path);
             for (std::size_t i = 0; i < inside.size() / 2; ++i) local_files().remove(path + "/" + inside[i]);
           });
  }

 private:
  void require_loose(const std::string& path) const {
    for (const std::string& part : fixed)
      if (path.find(part) != std::string::npos && local_files().exists(path))
        throw Error(Code::usage, path + ": Invalid cross-device link");
  }

  template <class Whole, class Half>
  void change(const Whole& whole, const Half& half) {
    const int now = changes_++;
    if (now < at_ || (now > at_ && fault_ == Fault::full)) return whole();
    if (now == at_ && fault_ == Fault::crash) half();
    throw Error(Code::resource, fault_ == Fault::full ? "No space left on device" : "crashed");
  }

  const int at_;
  const Fault fault_;
  std::atomic<int> changes_{0};
};

}  // namespace ferry::test

#include "kernels/compile/object_code.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace ferry {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // relocations have 32 bits

[[noreturn]] void refuse(const char* why) {
  throw Error(Code::resource, "compiled code cannot be loaded: {}", why);
}

/// The sections of an object, and where each of them is loaded.
class ObjectReader {
 public:
  explicit ObjectReader(std::string_view object) : object_(object) {
    const auto head = read<Elf64_Ehdr>(0);
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_type != ET_REL || head.e_machine != EM_X86_64)
      refuse("it is no relocatable object for x86-64");
    for (std::uint64_t s = 0; s < head.e_shnum; ++s)
      sections_.push_back({read<Elf64_Shdr>(head.e_shoff + s * sizeof(Elf64_Shdr)), {}});
    for (Section& section : sections_) place(section);
  }

  /// The number of bytes of the loaded sections.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Copies the sections to `memory`, which begins with zeros, and relocates them.
  void load(std::byte* memory) const {
    for (const Section& section : sections_)
      if (section.at && section.head.sh_type == SHT_PROGBITS)
        std::memcpy(memory + *section.at, bytes(section).data(), section.head.sh_size);
    for (const Section& section : sections_) {
      if (section.head.sh_type != SHT_RELA || !target(section).at) continue;
      for (std::uint64_t r = 0; r < section.head.sh_size / sizeof(Elf64_Rela); ++r)
        relocate(memory, section, read<Elf64_Rela>(section.head.sh_offset + r * sizeof(Elf64_Rela)));
    }
  }

  /// The offset of a global function in the loaded sections.
  [[nodiscard]] std::size_t find(std::string_view name) const {
    for (const Section& section : sections_) {
      if (section.head.sh_type != SHT_SYMTAB) continue;
      const std::string_view names = bytes(at(section.head.sh_link));
      for (std::uint64_t s = 0; s < section.head.sh_size / sizeof(Elf64_Sym); ++s) {
        const auto symbol = this->symbol(section, s);
        if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            symbol.st_name < names.size() && names.substr(symbol.st_name).starts_with(name) &&
            names.substr(symbol.st_name + name.size()).starts_with('\0'))
          return address(symbol);
      }
    }
    refuse("it lacks its function");
  }

 private:
  struct Section {
    Elf64_Shdr head;
    std::optional<std::size_t> at;  ///< where it is loaded; nothing: it is not loaded
  };

  template <class T>
  [[nodiscard]] T read(std::uint64_t offset) const {
    if (offset > object_.size() || object_.size() - offset < sizeof(T)) refuse("it is damaged");
    T made;
    std::memcpy(&made, object_.data() + offset, sizeof made);
    return made;
  }
  [[nodiscard]] std::string_view bytes(const Section& section) const {
    const auto& [offset, size] = std::pair(section.head.sh_offset, section.head.sh_size);
    if (offset > object_.size() || object_.size() - offset < size) refuse("it is damaged");
    return object_.substr(offset, size);
  }
  [[nodiscard]] const Section& at(std::uint64_t index) const {
    if (index >= sections_.size()) refuse("it is damaged");
    return sections_[index];
  }
  [[nodiscard]] const Section& target(const Section& relocations) const { return at(relocations.head.sh_info); }
  [[nodiscard]] Elf64_Sym symbol(const Section& table, std::uint64_t index) const {
    if (index >= table.head.sh_size / sizeof(Elf64_Sym)) refuse("it is damaged");
    return read<Elf64_Sym>(table.head.sh_offset + index * sizeof(Elf64_Sym));
  }
  [[nodiscard]] std::size_t address(const Elf64_Sym& symbol) const {
    if (symbol.st_shndx == SHN_UNDEF) refuse("it calls a function that it does not contain");
    const Section& section = at(symbol.st_shndx);
    if (!section.at || symbol.st_value > section.head.sh_size) refuse("it is damaged");
    return *section.at + symbol.st_value;
  }

  void place(Section& section) {
    const std::uint64_t align = section.head.sh_addralign == 0 ? 1 : section.head.sh_addralign;
    const bool has_bytes = section.head.sh_type == SHT_PROGBITS || section.head.sh_type == SHT_NOBITS;
    if ((section.head.sh_flags & SHF_ALLOC) == 0 || !has_bytes) return;
    if ((align & (align - 1)) != 0 || align > kMostBytes || section.head.sh_size > kMostBytes) refuse("it is damaged");
    if ((section.head.sh_flags & SHF_WRITE) != 0 && section.head.sh_size > 0) refuse("it has variables");
    size_ = (size_ + align - 1) / align * align;
    section.at = size_;
    size_ += section.head.sh_size;
    if (size_ > kMostBytes) refuse("it is too large");
  }

  void relocate(std::byte* memory, const Section& relocations, const Elf64_Rela& relocation) const {
    const Section& to = target(relocations);
    const std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32) refuse("it has relocations of another kind");
    if (relocation.r_offset > to.head.sh_size || to.head.sh_size - relocation.r_offset < sizeof(std::int32_t))
      refuse("it is damaged");
    const std::size_t here = *to.at + relocation.r_offset;
    const std::size_t there = address(symbol(at(relocations.head.sh_link), ELF64_R_SYM(relocation.r_info)));
    const auto distance = static_cast<std::int32_t>(static_cast<std::int64_t>(there) + relocation.r_addend -
                                                    static_cast<std::int64_t>(here));
    std::memcpy(memory + here, &distance, sizeof distance);
  }

  const std::string_view object_;
  std::vector<Section> sections_;
  std::size_t size_ = 0;
};

}  // namespace

ObjectCode::ObjectCode(std::string_view object, std::string_view name) {
  const ObjectReader reader(object);
  const std::size_t function = reader.find(name);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (reader.size() + page - 1) / page * page;
  void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse("there is no memory");
  try {
    reader.load(static_cast<std::byte*>(memory));
    if (mprotect(memory, bytes_, PROT_READ | PROT_EXEC) != 0) refuse("the system grants no executable memory");
  } catch (...) {
    munmap(memory, bytes_);
    throw;
  }
  memory_ = memory;
  function_ = static_cast<std::byte*>(memory) + function;
}

ObjectCode::~ObjectCode() {
  munmap(memory_, bytes_);
}

}  // namespace ferry

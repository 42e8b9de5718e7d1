# Shared by ./quickstart, ./check and the other scripts: packages, the build folder, the environment. Sourced by bash.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Open MPI refuses root without these; tests and samples start more ranks than a small machine has cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Logs and test output are in the language that the tests expect.
export LC_ALL=C.UTF-8

fail() {
  echo "$*" >&2
  exit 2
}

# Runs a command as root, by sudo where we are not root.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# packages_of SET…: the packages of these sets of scripts/packages.txt.
packages_of() {
  local set
  for set in "$@"; do
    awk -v set="$set" '$1 == set { print $2 }' "$root/scripts/packages.txt"
  done
}

# missing_packages SET…: the packages of these sets that are not installed.
missing_packages() {
  local package
  for package in $(packages_of "$@"); do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) echo "$package" ;;
    esac
  done
}

# available_packages PACKAGE…: the packages that this system's apt has. Reports the other ones, such as clang-14 in Debian 13.
available_packages() {
  local package
  for package in "$@"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      echo "$package"
    else
      echo "packages: this system has no $package" >&2
    fi
  done
}

# install_packages SET…: installs the packages that are missing, and reports them in one line.
install_packages() {
  command -v dpkg-query >/dev/null || {
    echo "packages: no apt here; needed: $(packages_of "$@" | xargs)"
    return
  }
  local missing
  missing=$(missing_packages "$@" | xargs)
  if [ -z "$missing" ]; then
    echo "packages: all there"
    return
  fi
  apt_get update
  missing=$(available_packages $missing | xargs)
  [ -n "$missing" ] || return 0
  echo "packages: installing $missing"
  apt_get install $missing
}

# apt_get COMMAND…: runs apt-get without recommended packages; shows its output where it fails.
apt_get() {
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || fail "packages: run as root, or by hand: apt-get $*"
  local log
  log=$(mktemp)
  if as_root env DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends "$@" >"$log" 2>&1; then
    rm -f "$log"
  else
    tail -n 20 "$log" >&2
    fail "packages: apt-get failed (whole log: $log)"
  fi
}

# Prints whether there is a CUDA toolkit, and that ferry does not use it.
report_cuda() {
  local nvcc
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
  if [ -n "$nvcc" ]; then
    echo "CUDA: toolkit at $(dirname "$(dirname "$nvcc")"): the plug-in for GPUs is built"
  else
    echo "CUDA: no toolkit found: the plug-in for GPUs is not built, its kernels are tested on the host"
  fi
}

# Every clone of the repository shares what ccache keeps: with debug information of lines alone, the folder changes nothing that a test
# reads. ccache has to be told about precompiled headers. It finds the headers of a file in the compiler's list (CCACHE_DEPEND); otherwise
# it would preprocess each new file a second time.
export CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# configure COMPILER FOLDER [MESON OPTION…]: sets up a build folder, with warnings as errors.
configure() {
  local compiler=$1 folder=$2 multiarch
  multiarch=$("$1" -print-multiarch 2>/dev/null || true)  # Meson finds it on Debian and Ubuntu only where dpkg-dev is installed
  shift 2
  if command -v ccache >/dev/null; then compiler="ccache $compiler"; fi
  if [ -f "$folder/build.ninja" ]; then
    meson configure "$folder" -Dwerror=true "$@"
  else
    CXX=$compiler meson setup "$folder" "$root" -Dwerror=true ${multiarch:+"-Dlibdir=lib/$multiarch"} "$@"
  fi
}

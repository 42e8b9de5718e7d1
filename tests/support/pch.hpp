// What nearly every test reads, for programs of many tests (meson's cpp_pch).
#include <doctest/doctest.h>

#include "base/pch.hpp"

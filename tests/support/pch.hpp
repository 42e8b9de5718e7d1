// The precompiled header of programs with many tests (meson's cpp_pch): what nearly every test includes.
#include <doctest/doctest.h>

#include "base/pch.hpp"

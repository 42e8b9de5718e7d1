// The umbrella header: all that a program needs to build graphs and run them. Installed as <ferry/ferry.hpp>.
#pragma once

#include "base/error.hpp"

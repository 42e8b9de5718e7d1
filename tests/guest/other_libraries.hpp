// Libraries that a program brings along, in other versions than ferry has been built with.
#pragma once

namespace guest {

/// Uses each of them, so that its functions are linked into the program. Their own functions are fine; those which have
/// a name that ferry's version has, too, end the program.
void use_other_libraries();

}  // namespace guest

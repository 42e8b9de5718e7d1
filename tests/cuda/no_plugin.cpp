// A library that is no plug-in: it has nothing.

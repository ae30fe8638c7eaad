// Only the headers that CMake puts before it.

// Carries the compiled header that all tests share (tests/CMakeLists.txt).

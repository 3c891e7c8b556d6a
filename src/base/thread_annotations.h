// Names of clang's thread-safety attributes; other compilers see nothing. `make lint` verifies
// them.
#pragma once

#if defined(__clang__)
#define HOLDFAST_ATTRIBUTE(x) __attribute__((x))
#else
#define HOLDFAST_ATTRIBUTE(x)
#endif

#define GUARDED_BY(mutex) HOLDFAST_ATTRIBUTE(guarded_by(mutex))
#define REQUIRES_LOCK(mutex) HOLDFAST_ATTRIBUTE(requires_capability(mutex))

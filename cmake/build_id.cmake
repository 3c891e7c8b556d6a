# Writes the build id, the commit that is built, where it differs from what FILE holds:
#   cmake -DSOURCE=... -DFILE=... -P cmake/build_id.cmake
# HOLDFAST_BUILD_ID in the environment overrides it, for trees without git. A `+` means that files
# were changed since that commit.
set(id "$ENV{HOLDFAST_BUILD_ID}")
if(id STREQUAL "")
  execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --dirty=+ --exclude *
    OUTPUT_VARIABLE id OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT id MATCHES "^[A-Za-z0-9.+~-]+$")
  set(id "unknown")
endif()
set(text "#pragma once\n#define HOLDFAST_BUILD_ID \"${id}\"\n")
if(EXISTS ${FILE})
  file(READ ${FILE} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${FILE} "${text}")
endif()

# What `make install` and the packages hold. All of it is found from where the program lies
# (src/env/program_path.h), so that the whole can be moved:
#
#   bin/holdfast           the program; finds its libraries by $ORIGIN
#   lib/holdfast/          the engine: llama.cpp, one library for each kind of processor and card
#   share/holdfast/        the small model, so that a first start has one; the service as systemd wants
#                          it, with the file of its settings
#   share/man, share/bash-completion, share/zsh, share/fish      printed by the program itself
include(GNUInstallDirs)
set(engine_folder lib/holdfast)

# RPATH and not RUNPATH: it counts for what the libraries beside the program ask for, too.
target_link_options(holdfast PRIVATE -Wl,--disable-new-dtags)
set_target_properties(holdfast PROPERTIES INSTALL_RPATH "$ORIGIN/../${engine_folder}")
install(TARGETS holdfast RUNTIME DESTINATION bin)

# --- the engine ---------------------------------------------------------------------------------
# Without the names that only a linker uses: libllama.so is a link, and nothing asks for it.
file(GLOB engine_files ${HOLDFAST_ENGINE_DIR}/lib/lib*.so*)
foreach(file IN LISTS engine_files)
  if(IS_SYMLINK ${file} AND file MATCHES "\\.so$")
    list(REMOVE_ITEM engine_files ${file})
  endif()
endforeach()
install(FILES ${engine_files} DESTINATION ${engine_folder})
install(FILES models/holdfast-pocket-q8_0.gguf DESTINATION share/holdfast)
install(FILES LICENSE CHANGELOG.md DESTINATION share/doc/holdfast)

# --- the service, with paths as they are installed -----------------------------------------------
set(device_rules "PrivateDevices=yes")
file(READ ${HOLDFAST_ENGINE_DIR}/KIND engine_kind)
string(STRIP "${engine_kind}" engine_kind)
if(NOT engine_kind STREQUAL "prebuilt")
  string(CONCAT device_rules "# Graphics cards.\nDevicePolicy=closed\nDeviceAllow=char-nvidia* rw\n"
    "DeviceAllow=char-drm rw\nDeviceAllow=char-kfd rw\nSupplementaryGroups=video render")
endif()
install(CODE "
  set(bin \${CMAKE_INSTALL_PREFIX}/bin)
  set(sysconf ${CMAKE_INSTALL_SYSCONFDIR})
  if(NOT IS_ABSOLUTE \${sysconf})
    set(sysconf /etc)
  endif()
  set(devices \"${device_rules}\")
  configure_file(${CMAKE_SOURCE_DIR}/packaging/holdfast.service.in
    ${CMAKE_BINARY_DIR}/printed/holdfast.service @ONLY)
  file(INSTALL ${CMAKE_BINARY_DIR}/printed/holdfast.service ${CMAKE_SOURCE_DIR}/packaging/environment
    DESTINATION \${CMAKE_INSTALL_PREFIX}/share/holdfast)
")

# --- what the program prints about itself --------------------------------------------------------
set(printed ${CMAKE_BINARY_DIR}/printed)
install(CODE "
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/printed_pages.sh $<TARGET_FILE:holdfast> ${printed}
    COMMAND_ERROR_IS_FATAL ANY)
")
install(DIRECTORY ${printed}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${printed}/completion/holdfast DESTINATION share/bash-completion/completions)
install(FILES ${printed}/completion/_holdfast DESTINATION share/zsh/vendor-completions)
install(FILES ${printed}/completion/holdfast.fish DESTINATION share/fish/vendor_completions.d)

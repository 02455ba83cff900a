# SPDX-License-Identifier: Apache-2.0
# Debian's cross compiler: g++-aarch64-linux-gnu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

# With a sysroot that has DPDK (offramp nic sysroot) the agent is built, without one the offloads and their tests.
if(OFFRAMP_SYSROOT)
  list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OFFRAMP_SYSROOT)
  set(CMAKE_SYSROOT ${OFFRAMP_SYSROOT})
  foreach(kind LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
  endforeach()
  set(ENV{PKG_CONFIG_SYSROOT_DIR} ${OFFRAMP_SYSROOT})
  set(ENV{PKG_CONFIG_LIBDIR} ${OFFRAMP_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${OFFRAMP_SYSROOT}/usr/share/pkgconfig)
endif()

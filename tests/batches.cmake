# Compiles the sources of each target in batches of DYNAMO_BATCH, those of tests of DYNAMO_TEST_BATCH, because the compiler
# spends most of its time in the headers of libraries. tests/lib/batches.py says which sources compile together. The release
# build compiles each source of the programs alone, which shows missing includes. CMake's own unity builds include sources by
# absolute paths, which ccache does not share between clones.
set(BATCHES_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/lib/batches.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${BATCHES_SCRIPT})

function(batch_target target directory size)
  get_target_property(sources ${target} SOURCES)
  set(batched)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${directory} NORMALIZE OUTPUT_VARIABLE path)
    get_property(definitions SOURCE ${path} TARGET_DIRECTORY ${target} PROPERTY COMPILE_DEFINITIONS)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${path} generated)
    if(path MATCHES "\\.cpp$" AND NOT generated AND NOT definitions)
      list(REMOVE_ITEM sources ${source})
      list(APPEND batched ${path})
    endif()
  endforeach()
  list(LENGTH batched count)
  if(count LESS 2)
    return()
  endif()
  execute_process(
    COMMAND python3 -B ${BATCHES_SCRIPT} ${size} ${CMAKE_BINARY_DIR}/batches/${target} ${batched}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE batches COMMAND_ERROR_IS_FATAL ANY)
  set_property(TARGET ${target} PROPERTY SOURCES ${batches} ${sources})
  # A name that a source declares anew may belong to another file of its batch.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${batched})
endfunction()

function(batch_targets directory size)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "LIBRARY|EXECUTABLE" AND NOT type STREQUAL INTERFACE_LIBRARY)
      batch_target(${target} ${directory} ${size})
    endif()
  endforeach()
endfunction()

function(batch_directory directory)
  set(size ${DYNAMO_BATCH})
  cmake_path(IS_PREFIX CMAKE_CURRENT_FUNCTION_LIST_DIR ${directory} of_tests)
  if(of_tests)
    set(size ${DYNAMO_TEST_BATCH})
  endif()
  if(size GREATER 1)
    batch_targets(${directory} ${size})
  endif()
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory ${subdirectories})
    batch_directory(${subdirectory})
  endforeach()
endfunction()

batch_directory(${CMAKE_SOURCE_DIR})

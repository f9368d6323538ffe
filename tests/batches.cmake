# Compiles the sources of each target in batches of DYNAMO_BATCH, because the compiler spends most of its time in the
# headers of libraries. tests/lib/batches.py says which sources compile together. The release build compiles each source
# alone, which shows missing includes.
set(BATCHES_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/lib/batches.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${BATCHES_SCRIPT})

function(batch_target target directory)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_BINARY_DIR}/")  # generated
  list(LENGTH sources count)
  if(count LESS 2)
    return()
  endif()
  execute_process(COMMAND python3 -B ${BATCHES_SCRIPT} ${DYNAMO_BATCH} ${sources} WORKING_DIRECTORY ${directory}
                  OUTPUT_VARIABLE batches COMMAND_ERROR_IS_FATAL ANY)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source batch IN ZIP_LISTS sources batches)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${directory} NORMALIZE)
    set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${target}_${batch})
    # A name that a source declares anew may belong to another file of its batch.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  endforeach()
endfunction()

function(batch_directory directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    batch_target(${target} ${directory})
  endforeach()
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory ${subdirectories})
    batch_directory(${subdirectory})
  endforeach()
endfunction()

batch_directory(${CMAKE_SOURCE_DIR})

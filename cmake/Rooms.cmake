# Code that waits for files and people, not for arithmetic: compiling it takes a third less time this way.
function(stoker_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

# Several files of a target at once, so that the headers they share are read once. Names in the anonymous
# namespaces of one room must differ for that. Kernels, which have options of their own, stay alone.
function(stoker_unite target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${STOKER_UNITY} UNITY_BUILD_BATCH_SIZE 20)
endfunction()

# stoker_room(NAME [OBJECT] [QUICK] SOURCES ... LINKS ...): one library per folder of src/.
# The rooms that are joined into libstoker.so are object libraries, the ones below it static.
# QUICK: see stoker_compile_quickly.
function(stoker_room name)
  cmake_parse_arguments(ROOM "OBJECT;QUICK" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  if(ROOM_OBJECT)
    add_library(stoker_${name} OBJECT ${ROOM_SOURCES})
  else()
    add_library(stoker_${name} STATIC ${ROOM_SOURCES})
  endif()
  target_include_directories(stoker_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(stoker_${name} PUBLIC stoker_options ${ROOM_LINKS} PRIVATE ${ROOM_PRIVATE_LINKS})
  stoker_unite(stoker_${name})
  if(ROOM_QUICK)
    stoker_compile_quickly(stoker_${name})
  endif()
endfunction()

# Tests run once for each time they are compiled.
function(stoker_compile_for_one_run target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
endfunction()

# stoker_test(ROOM [SERIAL] [PARTS N] SOURCES ... LINKS ...): one test program per room, found by ctest case by case.
# SERIAL: its tests take all of something (a GPU's memory) and run while no other does.
# PARTS: ctest runs the program so many times, each time another part of its cases. For programs that take longer to
# start than a case takes: LibTorch needs about a second.
function(stoker_test room)
  cmake_parse_arguments(TEST "SERIAL" "PARTS" "SOURCES;LINKS" ${ARGN})
  add_executable(test_${room} ${TEST_SOURCES})
  stoker_compile_for_one_run(test_${room})
  stoker_unite(test_${room})
  target_include_directories(test_${room} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(test_${room} PRIVATE
    STOKER_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STOKER_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(test_${room} PRIVATE ${TEST_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  # Some ask for more memory than there is, and a sanitizer would rather end the program than say no.
  set(sanitizer ASAN_OPTIONS=allocator_may_return_null=1)
  # The limit of time only ends tests that hang: it is longer than the hour for which a test waits for one event
  # (tests/patience.h).
  if(NOT TEST_PARTS)
    gtest_discover_tests(test_${room} TEST_PREFIX "${room}/" PROPERTIES TIMEOUT 7200 RUN_SERIAL ${TEST_SERIAL}
      ENVIRONMENT ${sanitizer} DISCOVERY_TIMEOUT 7200)
    return()
  endif()
  math(EXPR last "${TEST_PARTS} - 1")
  foreach(part RANGE ${last})
    math(EXPR number "${part} + 1")
    add_test(NAME ${room}/part-${number}-of-${TEST_PARTS} COMMAND test_${room})
    set_tests_properties(${room}/part-${number}-of-${TEST_PARTS} PROPERTIES TIMEOUT 7200
      ENVIRONMENT "${sanitizer};GTEST_TOTAL_SHARDS=${TEST_PARTS};GTEST_SHARD_INDEX=${part}")
  endforeach()
endfunction()

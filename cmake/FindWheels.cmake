# Arrow and LibTorch from the Python wheels: those of .venv where tools/setup made one,
# else those of the python3 on the path. Nothing is imported: the folders are looked up only.
if(NOT STOKER_PYTHON)
  if(EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
    set(STOKER_PYTHON ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  else()
    find_program(STOKER_PYTHON python3 REQUIRED)
  endif()
endif()

function(_wheel_folder package variable)
  execute_process(
    COMMAND ${STOKER_PYTHON} -c
      "import importlib.util as u; s = u.find_spec('${package}'); print(s.submodule_search_locations[0] if s else '', end='')"
    OUTPUT_VARIABLE folder RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR folder STREQUAL "")
    message(FATAL_ERROR "The Python package '${package}' is missing from ${STOKER_PYTHON}: run tools/setup")
  endif()
  set(${variable} ${folder} PARENT_SCOPE)
endfunction()

_wheel_folder(pyarrow STOKER_PYARROW)
_wheel_folder(torch STOKER_TORCH)

foreach(component arrow parquet)
  file(GLOB library ${STOKER_PYARROW}/lib${component}.so.*00)
  if(NOT library)
    message(FATAL_ERROR "No lib${component}.so in ${STOKER_PYARROW}: pyarrow 25 or newer is needed")
  endif()
  add_library(Arrow::${component} SHARED IMPORTED)
  set_target_properties(Arrow::${component} PROPERTIES
    IMPORTED_LOCATION ${library}
    INTERFACE_INCLUDE_DIRECTORIES ${STOKER_PYARROW}/include)
endforeach()
# libparquet of the wheel exports the whole OpenSSL it was built with, and would take the place of the system's
# in every call to it, half of each (a crash in the first TLS handshake). The loader takes the first
# definition it meets, so the system's libraries stand before libparquet on every link line.
set_target_properties(Arrow::parquet PROPERTIES INTERFACE_LINK_OPTIONS
  "LINKER:--push-state,--no-as-needed;$<TARGET_FILE:OpenSSL::SSL>;$<TARGET_FILE:OpenSSL::Crypto>;LINKER:--pop-state")
string(REGEX MATCH "so\\.([0-9]+)00$" _ ${library})
if(CMAKE_MATCH_1 LESS 25)
  message(FATAL_ERROR "pyarrow ${CMAKE_MATCH_1} found, 25 or newer is needed")
endif()
set(Wheels_FOUND TRUE)

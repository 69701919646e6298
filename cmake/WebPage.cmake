# The page of web/ travels inside the program where Node is there and tools/setup has fetched its packages.

# A system's Node may be older than Vite takes; tools/setup then puts one into .venv.
function(stoker_find_node result)
  set(${result} "" PARENT_SCOPE)
  foreach(candidate ${CMAKE_SOURCE_DIR}/.venv/bin/node node)
    unset(found CACHE)
    find_program(found ${candidate} NO_CACHE)
    if(NOT found)
      continue()
    endif()
    execute_process(COMMAND ${found} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(REGEX REPLACE "^v" "" version "${version}")
    if(version VERSION_GREATER_EQUAL 20.19)
      set(${result} ${found} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Sets STOKER_NODE and STOKER_WEB_FOUND. Found again at the next build when the packages come or go.
stoker_find_node(STOKER_NODE)
file(GLOB web_packages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/node_modules/.package-lock.json)
if(STOKER_NODE AND web_packages)
  set(STOKER_WEB_FOUND ON)
else()
  set(STOKER_WEB_FOUND OFF)
  message(STATUS "The web page is left out: Node 20.19 or newer, or web/node_modules, is not there (tools/setup)")
endif()

# stoker_web_page(RESULT): the C++ file that has the page, or has none.
function(stoker_web_page result)
  if(NOT STOKER_WEB_FOUND)
    set(${result} http/no_page.cpp PARENT_SCOPE)
    return()
  endif()
  set(web ${CMAKE_SOURCE_DIR}/web)
  set(built ${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/* ${CMAKE_SOURCE_DIR}/examples/*.yaml
    ${CMAKE_SOURCE_DIR}/examples/*.json)
  list(FILTER sources EXCLUDE REGEX "\\.test\\.ts$")
  add_custom_command(
    OUTPUT ${built}
    COMMAND ${STOKER_NODE} node_modules/vite/bin/vite.js build --logLevel warn --outDir ${CMAKE_BINARY_DIR}/web --emptyOutDir
    COMMAND ${STOKER_NODE} embed.mjs ${CMAKE_BINARY_DIR}/web ${built}
    DEPENDS ${sources} ${web}/index.html ${web}/vite.config.ts ${web}/embed.mjs ${web}/package-lock.json
    WORKING_DIRECTORY ${web}
    COMMENT "Building the web page"
    VERBATIM)
  # A target of its own waits for no library, and builds the page alone: cmake --build build --target web_page
  add_custom_target(web_page DEPENDS ${built})
  set(${result} ${built} PARENT_SCOPE)
endfunction()

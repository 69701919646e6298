# One target that carries the house's compile options; every room links it.
add_library(stoker_options INTERFACE)
target_compile_options(stoker_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror>)
if(STOKER_SANITIZE)
  target_compile_options(stoker_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-omit-frame-pointer>)
  target_link_options(stoker_options INTERFACE -fsanitize=address,undefined)
endif()

// A library to preload: makes one chosen call of a system function fail, as a full disk or an exhausted
// machine would. For tests/soak/injection.py.
//
//   STOKER_INJECT=FUNCTION:NUMBER:ERRNO[:more]  the NUMBER-th call (from 1) of FUNCTION fails with ERRNO, and
//                                               with `more` every later one too; an ERRNO of 0 kills the
//                                               process there
//   STOKER_INJECT_COUNTS=FILE                   at the end, how often each function was called
//   STOKER_INJECT_FOLDER=FOLDER                 of files, only those below this folder count

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum Function {
  function_open,
  function_write,
  function_sync,
  function_rename,
  function_mkdir,
  function_read,
  function_map,
  function_memory,
  function_thread,
  functions
};
constexpr const char* names[functions] = {"open", "write", "sync",   "rename", "mkdir",
                                          "read", "map",   "memory", "thread"};

std::atomic<long> counts[functions];
int chosen = functions;
long chosen_number = 0;
int chosen_error = 0;
bool and_all_later = false;
char folder[4096];
char counts_file[4096];
bool ready = false;

template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

bool fails(Function function) {
  if (!ready) return false;
  const long number = ++counts[function];
  const bool is_it =
      function == chosen && (number == chosen_number || (and_all_later && number > chosen_number));
  if (is_it && chosen_error == 0) kill(getpid(), SIGKILL);
  if (is_it) errno = chosen_error;
  return is_it;
}

bool is_below_folder(const char* path) {
  if (folder[0] == 0 || path == nullptr) return true;
  return path[0] != '/' || std::strncmp(path, folder, std::strlen(folder)) == 0;
}

// Standard streams and pipes are no files of ours.
bool is_our_file(int descriptor) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0 || descriptor <= STDERR_FILENO) return false;
  path[size] = 0;
  return path[0] == '/' && is_below_folder(path);
}

__attribute__((constructor)) void prepare() {
  if (const char* below = std::getenv("STOKER_INJECT_FOLDER"))
    std::snprintf(folder, sizeof folder, "%s", below);
  if (const char* file = std::getenv("STOKER_INJECT_COUNTS"))
    std::snprintf(counts_file, sizeof counts_file, "%s", file);
  if (const char* text = std::getenv("STOKER_INJECT")) {
    char name[32] = "";
    char more[8] = "";
    if (std::sscanf(text, "%31[^:]:%ld:%d:%7s", name, &chosen_number, &chosen_error, more) < 3) std::abort();
    for (int i = 0; i < functions; ++i)
      if (std::strcmp(name, names[i]) == 0) chosen = i;
    and_all_later = std::strcmp(more, "more") == 0;
  }
  unsetenv("LD_PRELOAD");  // programs that this one starts are not meant
}

using Main = int (*)(int, char**, char**);
Main main_of_program = nullptr;

int main_that_may_fail(int count, char** words, char** environment) {
  ready = true;
  return main_of_program(count, words, environment);
}

__attribute__((destructor)) void write_counts() {
  ready = false;
  if (counts_file[0] == 0) return;
  FILE* file = std::fopen(counts_file, "w");
  if (file == nullptr) return;
  for (int i = 0; i < functions; ++i) std::fprintf(file, "%s %ld\n", names[i], counts[i].load());
  std::fclose(file);
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

}  // namespace

extern "C" {
// Calls count from main on: what libraries do before it cannot be caught by anyone.
int __libc_start_main(Main main, int count, char** words, void (*begin)(), void (*end)(),
                      void (*end_of_loader)(), void* stack_end) {
  main_of_program = main;
  const auto start = next<decltype(&__libc_start_main)>("__libc_start_main");
  return start(main_that_may_fail, count, words, begin, end, end_of_loader, stack_end);
}

#define STOKER_OPEN(name)                                                    \
  int name(const char* path, int flags, ...) {                               \
    va_list rest;                                                            \
    va_start(rest, flags);                                                   \
    const mode_t mode = mode_of(flags, rest);                                \
    va_end(rest);                                                            \
    if (is_below_folder(path) && fails(function_open)) return -1;            \
    static const auto real = next<int (*)(const char*, int, mode_t)>(#name); \
    return real(path, flags, mode);                                          \
  }
STOKER_OPEN(open)
STOKER_OPEN(open64)

FILE* fopen(const char* path, const char* mode) {
  if (ready && is_below_folder(path) && fails(function_open)) return nullptr;
  static const auto real = next<FILE* (*)(const char*, const char*)>("fopen");
  return real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  if (ready && is_below_folder(path) && fails(function_open)) return nullptr;
  static const auto real = next<FILE* (*)(const char*, const char*)>("fopen64");
  return real(path, mode);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  if (ready && is_our_file(descriptor) && fails(function_write)) return -1;
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return real(descriptor, data, size);
}
ssize_t writev(int descriptor, const iovec* parts, int count) {
  if (ready && is_our_file(descriptor) && fails(function_write)) return -1;
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  return real(descriptor, parts, count);
}
ssize_t pwrite64(int descriptor, const void* data, size_t size, off64_t offset) {
  if (ready && is_our_file(descriptor) && fails(function_write)) return -1;
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return real(descriptor, data, size, offset);
}
ssize_t read(int descriptor, void* data, size_t size) {
  if (ready && is_our_file(descriptor) && fails(function_read)) return -1;
  static const auto real = next<ssize_t (*)(int, void*, size_t)>("read");
  return real(descriptor, data, size);
}
ssize_t pread64(int descriptor, void* data, size_t size, off64_t offset) {
  if (ready && is_our_file(descriptor) && fails(function_read)) return -1;
  static const auto real = next<ssize_t (*)(int, void*, size_t, off64_t)>("pread64");
  return real(descriptor, data, size, offset);
}
ssize_t pread(int descriptor, void* data, size_t size, off_t offset) {
  if (ready && is_our_file(descriptor) && fails(function_read)) return -1;
  static const auto real = next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  return real(descriptor, data, size, offset);
}
int fsync(int descriptor) {
  if (fails(function_sync)) return -1;
  static const auto real = next<int (*)(int)>("fsync");
  return real(descriptor);
}
int fdatasync(int descriptor) {
  if (fails(function_sync)) return -1;
  static const auto real = next<int (*)(int)>("fdatasync");
  return real(descriptor);
}
int rename(const char* from, const char* to) {
  if (fails(function_rename)) return -1;
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return real(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (fails(function_rename)) return -1;
  static const auto real = next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return real(from_folder, from, to_folder, to, flags);
}
int mkdir(const char* path, mode_t mode) {
  if (fails(function_mkdir)) return -1;
  static const auto real = next<int (*)(const char*, mode_t)>("mkdir");
  return real(path, mode);
}
void* mmap(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  if (fails(function_map)) return MAP_FAILED;
  static const auto real = next<void* (*)(void*, size_t, int, int, int, off_t)>("mmap");
  return real(address, size, protection, flags, descriptor, offset);
}
void* mmap64(void* address, size_t size, int protection, int flags, int descriptor, off64_t offset) {
  if (fails(function_map)) return MAP_FAILED;
  static const auto real = next<void* (*)(void*, size_t, int, int, int, off64_t)>("mmap64");
  return real(address, size, protection, flags, descriptor, offset);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  if (fails(function_thread)) return chosen_error;
  static const auto real =
      next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return real(thread, attributes, start, argument);
}

// glibc's own under other names: dlsym itself asks for memory.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  return fails(function_memory) ? nullptr : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return fails(function_memory) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  return fails(function_memory) ? nullptr : __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails(function_memory) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** result, size_t alignment, size_t size) {
  if (fails(function_memory)) return ENOMEM;
  *result = __libc_memalign(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}

}  // extern "C"

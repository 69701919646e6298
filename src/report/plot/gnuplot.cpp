#include "report/plot/gnuplot.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/without_sync.h"
#include "base/text/text.h"
#include "device/workers.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds longest_drawing{60};
constexpr std::size_t largest_picture = 64U << 20;

// Plain sizes in pixels and one font, so that pictures look alike; the cairo terminal smooths lines and text.
constexpr std::string_view png_terminal = R"(if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {
  set terminal pngcairo size 1200,800 font 'DejaVu Sans,16' background rgb '#ffffff' linewidth 1.5
} else {
  set terminal png size 1200,800
}
)";
// A point is a pixel to it, where cairo takes 96 pixels for 72 points.
constexpr std::string_view svg_terminal =
    "set terminal svg size 1200,800 font 'DejaVu Sans,16' fontscale 1.3333\n";
constexpr std::string_view preamble = R"(set encoding utf8
set output 'picture'
set border 3 linecolor rgb '#8a94a6'
set tics nomirror textcolor rgb '#465064'
set grid linecolor rgb '#e3e7ee' linetype 1 linewidth 0.8
set title textcolor rgb '#1b2333' font ',20' noenhanced
set xlabel textcolor rgb '#465064' noenhanced
set ylabel textcolor rgb '#465064' noenhanced
set key textcolor rgb '#465064' noenhanced
set rmargin 4
set tmargin 4
set bmargin 4.5
)";

// Invalid UTF-8 would stop the text of a whole picture from being drawn.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  if (byte(0) < 0x80U) return 1;
  if (byte(0) >= 0xc2U && byte(0) < 0xe0U && follows(1)) return 2;
  if (byte(0) >= 0xe0U && byte(0) < 0xf0U && follows(1) && follows(2)) {
    const unsigned code = (byte(0) & 0xfU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
    return code >= 0x800U && (code < 0xd800U || code > 0xdfffU) ? 3 : 0;
  }
  if (byte(0) >= 0xf0U && byte(0) < 0xf5U && follows(1) && follows(2) && follows(3)) {
    const unsigned code = (byte(0) & 7U) << 18 | (byte(1) & 0x3fU) << 12;
    return code >= 0x10000U && code < 0x110000U ? 4 : 0;
  }
  return 0;
}

std::vector<std::string> child_environment(const fs::path& folder) {
  std::vector<std::string> environment{"HOME=" + folder.string(), "LC_ALL=C.UTF-8"};
  for (const char* name : {"PATH", "TMPDIR", "FONTCONFIG_PATH", "FONTCONFIG_FILE", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

pid_t start(const fs::path& gnuplot, const fs::path& folder) {
  std::vector<std::string> arguments{gnuplot.string(), "--default-settings", "script.gp"};
  std::vector<std::string> environment = child_environment(folder);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "messages.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = -1;
  const int error = posix_spawn(&child, gnuplot.c_str(), &actions, nullptr, pointers(arguments).data(),
                                pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    fail("{} cannot be started: {}", gnuplot.string(),
         std::error_code(error, std::generic_category()).message());
  return child;
}

// The child's status as waitpid gives it. A child that hangs is ended.
int wait_for(pid_t child, std::chrono::seconds longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  int status = 0;
  std::chrono::milliseconds pause{1};
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(2));
  }
  return status;
}

// A picture and the file that it is for.
struct Drawing {
  const GnuplotPicture* picture;
  fs::path file;
};

std::string script_of(const Drawing& drawing) {
  const std::string_view terminal = drawing.file.extension() == ".svg" ? svg_terminal : png_terminal;
  return std::string(terminal) + std::string(preamble) + drawing.picture->commands;
}

fs::path folder_of_drawing(const fs::path& folder, std::size_t number) {
  return folder / std::to_string(number);
}

// With one gnuplot, whose start takes as long as many a picture. Each has a folder of its own, since their
// files have the same names. gnuplot ends at the first that it cannot draw; what it says then comes back, and
// nothing where all are there.
std::optional<std::string> draw_in(const fs::path& folder, const fs::path& gnuplot,
                                   const std::vector<Drawing>& drawings) {
  const WithoutSync gone_soon;
  std::string script;
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    const fs::path own = folder_of_drawing(folder, i);
    make_folder(own);
    for (const auto& [name, content] : drawings[i].picture->files) write_file(own / name, content);
    script += fmt::format("{}cd '{}'\n{}set output\ncd '..'\n", i == 0 ? "" : "reset session\n", i,
                          script_of(drawings[i]));
  }
  write_file(folder / "script.gp", script);
  const int status = wait_for(start(gnuplot, folder), longest_drawing * std::ssize(drawings));
  bool are_drawn = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::error_code error;
  for (std::size_t i = 0; i < drawings.size() && are_drawn; ++i)
    are_drawn = fs::exists(folder_of_drawing(folder, i) / "picture", error);
  if (are_drawn) return std::nullopt;
  const std::string messages = read_file(folder / "messages.txt", 1U << 20);
  return messages.empty() ? "it ended early" : messages.substr(0, 500);
}

void take_picture(const fs::path& folder, std::size_t number, const fs::path& file) {
  make_folder(file.parent_path());
  write_file(file, read_file(folder_of_drawing(folder, number) / "picture", largest_picture));
}

// What went wrong with each; empty where nothing did.
std::vector<std::string> problems_of_drawing(const fs::path& gnuplot, const std::vector<Drawing>& drawings) {
  std::vector<std::string> problems(drawings.size());
  const auto noting = [&](std::size_t i, const auto& work) {
    try {
      work();
    } catch (const std::exception& error) {
      problems[i] = error.what();
    }
  };
  try {
    const TemporaryFolder folder;
    // Where one of them fails, each is drawn alone, so that it costs itself and no other.
    const bool are_drawn = drawings.size() > 1 && !draw_in(folder.path(), gnuplot, drawings);
    for (std::size_t i = 0; i < drawings.size(); ++i)
      noting(i, [&] {
        are_drawn ? take_picture(folder.path(), i, drawings[i].file)
                  : draw(gnuplot, *drawings[i].picture, drawings[i].file);
      });
  } catch (const std::exception& error) {
    std::ranges::fill(problems, error.what());
  }
  return problems;
}

// What a picture takes beside reading its files, as bytes of those.
constexpr std::size_t bytes_of_any_picture = 600'000;

std::size_t work_of(const GnuplotPicture& picture) {
  std::size_t bytes = bytes_of_any_picture;
  for (const auto& [name, content] : picture.files) bytes += content.size();
  return bytes;
}

// Dealt out to so many that each has about as much to do.
std::vector<std::vector<std::size_t>> dealt_out(const std::vector<std::size_t>& work, std::size_t groups) {
  std::vector<std::size_t> order(work.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return work[i]; });
  std::vector<std::vector<std::size_t>> dealt(groups);
  std::vector<std::size_t> sums(groups);
  for (const std::size_t each : order) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(sums) - sums.begin());
    dealt[least].push_back(each);
    sums[least] += work[each];
  }
  return dealt;
}

}  // namespace

fs::path find_gnuplot() {
  const char* search = std::getenv("PATH");
  for (const std::string& folder : split_text(search == nullptr ? "" : search, ':')) {
    if (folder.empty()) continue;
    const fs::path candidate = fs::path(folder) / "gnuplot";
    std::error_code error;
    if (fs::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0)
      return fs::absolute(candidate, error);
  }
  return {};
}

std::size_t bytes_of_character(std::string_view text) {
  return std::max<std::size_t>(utf8_length(text), 1);
}

std::size_t characters_in(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(bytes_of_character(text));
  return count;
}

std::string gnuplot_text(std::string_view text, std::size_t longest) {
  std::string quoted = "'";
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == longest) {
      quoted += "…";
      break;
    }
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const bool control = static_cast<unsigned char>(character[0]) < 0x20U || character[0] == 0x7f;
    if (length == 0) {
      quoted += "\uFFFD";
    } else if (control) {
      quoted += ' ';
    } else {
      quoted += character == "'" ? "''" : character;
    }
    text.remove_prefix(character.size());
  }
  return quoted + "'";
}

void draw(const fs::path& gnuplot, const GnuplotPicture& picture, const fs::path& file) {
  const TemporaryFolder folder;
  if (const auto reason = draw_in(folder.path(), gnuplot, {{&picture, file}}))
    fail("gnuplot could not draw {}: {}", file.string(), *reason);
  take_picture(folder.path(), 0, file);
}

void Drawer::finish() {
  std::vector<std::size_t> work;
  for (const auto& [name, picture] : pictures_) work.push_back(work_of(picture));
  const auto groups = dealt_out(work, std::min(pictures_.size(), static_cast<std::size_t>(cores_to_share())));
  std::vector<std::string> problems(pictures_.size());
  share_among_cores(std::ssize(groups), [&](std::int64_t group) {
    const std::vector<std::size_t>& members = groups[static_cast<std::size_t>(group)];
    std::vector<Drawing> drawings;
    for (const std::size_t i : members)
      drawings.push_back({&pictures_[i].second, folder_ / pictures_[i].first});
    const std::vector<std::string> found = problems_of_drawing(gnuplot_, drawings);
    for (std::size_t i = 0; i < members.size(); ++i) problems[members[i]] = found[i];
  });
  pictures_.clear();
  std::set<std::string> said{""};
  for (const std::string& each : problems)
    if (said.insert(each).second) notes_(Severity::warning, fmt::format("a picture is missing: {}", each));
}

}  // namespace stoker

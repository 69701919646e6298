#include "report/page/page.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "report/experts/expert_pictures.h"
#include "report/page/base64.h"
#include "report/page/embedded.h"
#include "report/page/page_data.h"
#include "report/plot/pictures.h"
#include "report/run/report.h"
#include "report/run/sections.h"

namespace stoker {
namespace {

using Part = std::pair<std::string_view, std::string_view>;  // {{name}} and what takes its place

// One pass over the template, so that what is put in is not looked at again.
std::string filled(std::string_view page, std::initializer_list<Part> parts) {
  std::string result;
  for (std::size_t open = page.find("{{"); open != std::string_view::npos; open = page.find("{{")) {
    const std::size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const Part* part =
        std::find_if(parts.begin(), parts.end(), [&](const Part& each) { return each.first == name; });
    if (close == std::string_view::npos || part == parts.end())
      fail("the report's template has no part '{}'", name);
    result += page.substr(0, open);
    result += part->second;
    page.remove_prefix(close + 2);
  }
  return result += page;
}

std::string bytes_of(const std::string& hexadecimal) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hexadecimal.data() + i, hexadecimal.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string allowed(std::initializer_list<std::string_view> elements) {
  std::string sources;
  for (const std::string_view element : elements)
    sources += fmt::format(" 'sha256-{}'", base64_of(bytes_of(sha256_of_text(element))));
  return sources;
}

// The page may run and apply what is written here and nothing else: no request leaves it, and a script that a
// hostile name might smuggle in would not run.
std::string policy() {
  return fmt::format("default-src 'none'; script-src{}; style-src{}; base-uri 'none'; form-action 'none'",
                     allowed({embedded::plot_script, embedded::label_script, embedded::script,
                              embedded::experts_script, embedded::cubes_script}),
                     allowed({embedded::plot_style, embedded::style}));
}

std::string body_of(const RunContents& contents) {
  std::string body = title_section(contents);
  body += error_section(contents.record);
  body += metrics_section(contents);
  body += warnings_section(contents);
  body += notes_section(contents.record);
  if (!contents.curves.empty() || !contents.evaluations.empty() || !contents.experts.empty() ||
      !contents.cubes.empty())
    body +=
        "<noscript><section>The plots need JavaScript; everything else is shown without "
        "it.</section></noscript>\n";
  body += loss_section(contents);
  body += experts_section(contents);
  body += cubes_section(contents);
  body += predictions_section(contents);
  body += map_section(contents);
  body += steps_section(contents);
  body += class_scores_section(contents);
  body += confusion_section(contents);
  body += calibration_section(contents);
  body += importance_section(contents);
  body += coefficients_section(contents.record);
  body += "<div class=\"columns\">\n" + trainings_section(contents.record) +
          machine_section(contents.record) + "</div>\n";
  body += cards_section(contents.record);
  body += document_section(contents);
  return body + "<footer>Written by Stoker " + html_escaped(contents.record.stoker_version) + "</footer>";
}

void write_summaries(const RunContents& contents, const std::filesystem::path& folder) {
  for (const CardExperts& each : contents.experts) {
    make_folder(folder);
    const std::string behind = contents.experts.size() > 1 ? "-" + in_picture_name(each.card) : "";
    write_file(folder / ("performance_summary" + behind + ".txt"), performance_summary(each, contents));
  }
}

}  // namespace

std::string whole_page(const std::string& title, const std::string& body, const std::string& data) {
  const std::string content_policy = policy();
  const std::string safe_title = html_escaped(title);
  return filled(embedded::page, {{"policy", content_policy},
                                 {"title", safe_title},
                                 {"plot_style", embedded::plot_style},
                                 {"style", embedded::style},
                                 {"body", body},
                                 {"data", data},
                                 {"plot_script", embedded::plot_script},
                                 {"label_script", embedded::label_script},
                                 {"script", embedded::script},
                                 {"experts_script", embedded::experts_script},
                                 {"cubes_script", embedded::cubes_script}});
}

void write_report(const RunPaths& paths) {
  write_report(paths, read_contents(paths));
}

void write_report(const RunPaths& paths, const RunContents& contents) {
  const std::string& title = contents.record.name.empty() ? contents.id : contents.record.name;
  write_file(paths.report(), whole_page(title, body_of(contents), page_data(contents)));
  write_summaries(contents, paths.plots());
}

}  // namespace stoker

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "advise/advice.h"
#include "base/text/text.h"

namespace stoker::advise {
namespace {

// Below this share of the run's time, another batch or precision is not worth a word.
constexpr double worth_a_word = 0.9;

std::string name_of_way(const Prediction& way) {
  return fmt::format("{}, engine {}, placement {}", way.device, way.engine, way.placement);
}

std::string step_text(double seconds) {
  if (seconds >= 0.9995) return human_seconds(seconds);
  return seconds < 1e-3 ? fmt::format("{:.3g} µs", seconds * 1e6) : fmt::format("{:.3g} ms", seconds * 1e3);
}

std::string about(double seconds, bool is_measured) {
  return (is_measured ? "" : "about ") + human_seconds(seconds);
}

// A graph of nodes may be learned from statistics alone.
std::string steps_text(double seconds) {
  return seconds < 1e-3 ? "less than 1 ms" : human_seconds(seconds);
}

std::string memory_text(const Prediction& way) {
  const std::string host = human_bytes(way.peak_bytes);
  if (way.device_bytes == 0) return fmt::format("{} of memory at most", host);
  return fmt::format("{} of memory and {} of the GPU's at most", host, human_bytes(way.device_bytes));
}

void add_choice(const Advice& advice, std::vector<std::string>& all) {
  const Prediction& best = advice.best;
  if (advice.is_solved) {
    all.push_back(
        fmt::format("The model is solved, without steps: a run takes {}, and {}. There is nothing to "
                    "choose.",
                    human_seconds(best.seconds), memory_text(best)));
    return;
  }
  all.push_back(fmt::format("Recommended: {}. A run takes {}, {} of it for training, and {}.",
                            name_of_way(best), about(best.seconds, best.is_measured),
                            steps_text(best.training_seconds), memory_text(best)));
  if (best.is_limited())
    all.push_back(fmt::format(
        "Its time limit ends the training: all epochs would take {}. Ways are compared by that, since a "
        "faster one gets further.",
        human_seconds(best.all_steps_seconds)));
  if (best.is_measured)
    all.push_back("The training is over before it could be cut short: these are times of whole runs.");
  if (!advice.as_written) {
    all.push_back("The document as it is cannot be run here, or was not measured.");
  } else if (advice.times_as_written() < 1.005) {
    all.push_back("That is what the document does as it is.");
  } else {
    const std::string way = name_of_way(*advice.as_written);
    const std::string seconds = about(advice.as_written->seconds, advice.as_written->is_measured);
    all.push_back(
        advice.as_written->is_limited()
            ? fmt::format("As it is ({}), it takes {}, and all epochs would take {:.2f} times as long.", way,
                          seconds, advice.times_as_written())
            : fmt::format("As it is ({}), it takes {}: {:.2f} times as long.", way, seconds,
                          advice.times_as_written()));
  }
}

// The next best way with another engine, and with another device.
void add_reasons(const Advice& advice, std::vector<std::string>& all) {
  const Prediction& best = advice.best;
  const auto tell = [&](const Prediction& way, const std::string& what) {
    const double around_best = best.seconds - best.training_seconds;
    const double around = way.seconds - way.training_seconds;
    std::string why;
    if (way.all_steps_seconds > 1.05 * best.all_steps_seconds)
      why = fmt::format(": its steps take {:.3g} times as long",
                        way.all_steps_seconds / std::max(best.all_steps_seconds, 1e-9));
    else if (around > around_best + 0.1)
      why = fmt::format(": getting ready takes {} more", human_seconds(around - around_best));
    all.push_back(fmt::format("{} takes {}{}.", what, about(way.seconds, way.is_measured), why));
  };
  for (const Prediction& way : advice.predictions.ways)
    if (way.device != best.device) {
      tell(way, fmt::format("On {} the best way (engine {}, placement {})", way.device, way.engine,
                            way.placement));
      break;
    }
  for (const Prediction& way : advice.predictions.ways)
    if (way.device == best.device && way.engine != best.engine) {
      tell(way, fmt::format("The engine {} on the same device", way.engine));
      break;
    }
  for (const Prediction& way : advice.predictions.ways)
    if (way.device == best.device && way.engine == best.engine && way.placement != best.placement) {
      tell(way, fmt::format("The placement {} with the same engine", way.placement));
      break;
    }
}

bool may_stop_early(const Advice& advice) {
  for (const MeasuredSteps& steps : advice.found.steps)
    for (const Work& work : steps.works)
      if (work.patience > 0) return true;
  return false;
}

void add_changes(const Advice& advice, std::vector<std::string>& all) {
  if (may_stop_early(advice))
    all.push_back("Early stopping may end the training sooner; the times are those of all epochs.");
  const double now_seconds = advice.best.seconds;
  if (!advice.batches.empty() && advice.batches.front().seconds < worth_a_word * now_seconds) {
    const Change& batch = advice.batches.front();
    all.push_back(
        fmt::format("batch_size {} would take {} instead of {} for as many epochs. That changes the result: "
                    "an epoch has {} "
                    "then, and the learning rate has to be fitted to it.",
                    batch.batch_size, about(batch.seconds, false), human_seconds(now_seconds),
                    counted(static_cast<std::uint64_t>(batch.steps_per_epoch), "step")));
  } else if (!advice.batches.empty()) {
    std::vector<std::string> tried;
    for (const Change& each : advice.batches) tried.push_back(std::to_string(each.batch_size));
    all.push_back(fmt::format(
        "No other batch size that was tried ({}) makes a run more than a tenth shorter.", join(tried, ", ")));
  }
  if (!advice.precisions.empty() && advice.precisions.front().seconds < worth_a_word * now_seconds)
    all.push_back(
        fmt::format("precision {} would take {} instead of {}. That changes the result a little: products "
                    "are rounded otherwise.",
                    advice.precisions.front().precision, about(advice.precisions.front().seconds, false),
                    human_seconds(now_seconds)));
}

void add_load(const Advice& advice, std::vector<std::string>& all) {
  if (!advice.is_steady())
    all.emplace_back(
        "The machine is too busy for reliable times: measurements that were repeated did not agree. Run this "
        "command again when the machine has less to do.");
  constexpr double busy_share = 0.5;
  if (advice.found.load <= busy_share * advice.found.cores) return;
  all.push_back(
      fmt::format("Other work kept this machine busy before it was measured (load {:.1f} on {}): on a quiet "
                  "one everything is faster, and the ways may compare otherwise.",
                  advice.found.load, counted(static_cast<std::uint64_t>(advice.found.cores), "core")));
}

void add_rule(const Advice& advice, std::vector<std::string>& all) {
  if (!advice.rule || !advice.rule->disagrees) return;
  const RuleOfThumb& rule = *advice.rule;
  const bool has_gpu = advice.found.devices.size() > 1;
  all.push_back(
      fmt::format("The rule of thumb (fewer than 200 samples or a batch of less than 16: CPU) would say {} "
                  "for {} and a batch "
                  "of {}; {} says otherwise.",
                  rule.says_gpu ? "GPU" : "CPU", counted(static_cast<std::uint64_t>(rule.rows), "sample"),
                  rule.batch_size, has_gpu ? "what was measured here" : "the estimate below"));
}

// "790", "12,000", "8.6"
std::string two_digits(double value) {
  if (value < 10) return fmt::format("{:.2g}", value);
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return human_count(static_cast<std::uint64_t>(std::round(value / unit) * unit));
}

std::span<const Work> works_of(const Advice& advice) {
  return advice.found.steps.empty() ? std::span<const Work>() : advice.found.steps.front().works;
}

// Those that are known, in one sentence: the table has all of them.
std::string paying_text(const Advice& advice) {
  const GpuEstimate* fastest = nullptr;
  std::vector<std::string> not_paying;
  for (const GpuEstimate& each : advice.gpus) {
    if (!each.pays || !each.has_room)
      not_paying.push_back(each.name);
    else if (fastest == nullptr || each.seconds < fastest->seconds)
      fastest = &each;
  }
  if (fastest == nullptr) {
    const double host = host_seconds_of_step(works_of(advice));
    if (host <= advice.needed.step_seconds) return "None of those that are known does.";
    return fmt::format(
        "None of those that are known does: there are no kernels of our own for it, and to begin the "
        "operations of a step LibTorch takes about {} on any of them.",
        step_text(host));
  }
  const std::string about_all = human_seconds(fastest->seconds);
  if (not_paying.empty() && std::ranges::all_of(advice.gpus, [&](const GpuEstimate& each) {
        return human_seconds(each.seconds) == about_all;
      }))
    return fmt::format("All of those that are known would pay, with about {} for a run.", about_all);
  const bool is_alone = std::ranges::count(advice.gpus, fastest->seconds, &GpuEstimate::seconds) == 1;
  return fmt::format(
      "Of those that are known {}, with {} for a run; {}.",
      is_alone ? fastest->name + " would be the fastest" : "none would be faster than " + fastest->name,
      human_seconds(fastest->seconds),
      not_paying.empty() ? "all of them would pay" : "these would not pay: " + join(not_paying, ", "));
}

void add_gpus(const Advice& advice, std::vector<std::string>& all) {
  if (advice.found.devices.size() < 2 && !advice.not_estimated.empty())
    all.push_back(
        fmt::format("There is no GPU here, and what one would do is not estimated: our kernels for "
                    "GPUs do not cover this model; with LibTorch: {}.",
                    advice.not_estimated));
  if (advice.gpus.empty()) return;
  constexpr double thousand_millions = 1000;  // of the 1e12 that products are counted in
  if (!advice.needed.is_possible)
    all.push_back(fmt::format(
        "There is no GPU here, and none would pay (an estimate): the steps take {} in all, and to get "
        "a GPU ready takes longer than that.",
        steps_text(advice.best.all_steps_seconds)));
  else
    all.push_back(fmt::format(
        "There is no GPU here. One would pay (an estimate, nothing of it was measured) if it took a step "
        "in less than {}, for which it needs at least {} GFLOP/s and {} GB/s of its memory. {}",
        step_text(advice.needed.step_seconds), two_digits(2 * thousand_millions * advice.needed.products),
        two_digits(advice.needed.bandwidth), paying_text(advice)));
}

}  // namespace

std::vector<std::string> sentences_of(const Advice& advice) {
  std::vector<std::string> all;
  add_choice(advice, all);
  if (!advice.is_solved) add_reasons(advice, all);
  add_changes(advice, all);
  add_rule(advice, all);
  add_gpus(advice, all);
  add_load(advice, all);
  for (const std::string& each : advice.found.left_out) all.push_back("Left out: " + each + ".");
  return all;
}

}  // namespace stoker::advise

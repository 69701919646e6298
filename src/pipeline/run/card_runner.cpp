#include "pipeline/run/card_runner.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "pipeline/training/training_card.h"

namespace stoker {
namespace {

// Of which a copy in the cache takes longer than to make them: a run without the cache does not write one.
bool has_cubes(const PortValues& values) {
  return std::ranges::any_of(values, [](const auto& each) {
    const auto* table = std::get_if<Table>(&each.second);
    return table != nullptr && table->cubes;
  });
}

}  // namespace

CardRunner::CardRunner(const Document& document, const std::set<std::string>& running,
                       const RunOptions& options, RunFolder& folder, Recorder& recorder,
                       const StopSignal& stop, std::function<void(const Card&)> overstayed)
    : document_(document),
      options_(options),
      folder_(folder),
      recorder_(recorder),
      stop_(stop),
      overstayed_(std::move(overstayed)),
      cache_((options.resume ? options.resume->parent_path() : options.out) / ".cache"),
      known_sources_(cache_.folder()),
      outputs_(document, running),
      inputs_(document, running, outputs_),
      kernels_ahead_(document, running, options.compile_ahead) {}

CardRunner::Look CardRunner::look_at(const Card& card, const StopSignal& stop, const FindKnownRows& find) {
  Look look;
  if (card.kind->look_outside != nullptr)
    look.outside = card.kind->look_outside(card.config, document_.folder, stop, find);
  look.identity = outputs_.identity_of(card, look.outside.fingerprint);
  look.kept = kept_outputs(card, look.identity);
  return look;
}

// Rows that are known but no longer kept are fetched after all.
CardRunner::Look CardRunner::look_outside(const Card& card, const StopSignal& stop) {
  const auto nothing = [](const std::string&) { return std::optional<KnownRows>(); };
  if (!options_.use_cache) return look_at(card, stop, nothing);
  Look look = look_at(card, stop, [this](const std::string& key) { return known_sources_.find(key); });
  if (look.outside.is_known && !look.kept) return look_at(card, stop, nothing);
  if (look.outside.is_known) recorder_.note(Severity::info, text_of_known_rows(look.outside.rows));
  return look;
}

bool CardRunner::run(const Card& card) {
  TimeLimit limit(
      card.time_limit, stop_, [this, &card] { overstayed_(card); }, options_.grace);
  const Look look = look_outside(card, limit.stop());
  const Outside& outside = look.outside;
  if (card.kind->look_outside != nullptr) folder_.check_fingerprint(card, outside.fingerprint);
  for (const std::string& warning : outside.warnings) recorder_.note(Severity::warning, warning);
  const std::string& identity = look.identity;
  const std::optional<KeptOutputs>& kept = look.kept;
  if (kept) recorder_.repeat(kept->notes);
  kernels_ahead_.begin(card, outside, [&](const Card& training) {
    const auto to_come = outputs_.identity_to_come(training, card.id, identity);
    return options_.use_cache && to_come && cache_.state_of(*to_come, *training.kind) == Cache::State::whole;
  });
  inputs_.opened(card.id, outside);
  PortValues values = kept ? kept->values : run_anew(card, identity, outside, limit);
  if (!outside.rows.key.empty() && !outside.is_known) known_sources_.keep(outside.rows, identity);
  std::string found_by = identity_of_outputs(identity, *card.kind, values);
  outputs_.add(card.id, std::move(found_by), std::move(values));
  if (!kept) outputs_.leave_in_cache(cache_, Outputs::Tables::rows_of_others, card);
  return kept.has_value();
}

void CardRunner::let_go_after(const Card& card, bool reused) {
  if (!reused) outputs_.leave_in_cache(cache_, Outputs::Tables::all, card);
  outputs_.let_go_after(card);
}

// Loaded as soon as they are found: people may remove the cache while a run goes on.
std::optional<KeptOutputs> CardRunner::kept_outputs(const Card& card, const std::string& identity) {
  if (!options_.use_cache) return std::nullopt;
  const Cache::State state = cache_.state_of(identity, *card.kind);
  if (state == Cache::State::damaged) {
    recorder_.note(Severity::warning,
                   fmt::format("the kept output of the card {} is damaged; the card runs again", card.id));
  }
  if (state != Cache::State::whole) return std::nullopt;
  return cache_.load(identity, *card.kind);
}

PortValues CardRunner::run_anew(const Card& card, const std::string& identity, const Outside& outside,
                                TimeLimit& limit) {
  const InputValues inputs = inputs_.of(card);
  const CardContext context{
      .config = card.config,
      .inputs = inputs,
      .outside = outside,
      .document_folder = document_.folder,
      .tables_to_evaluate = trains(card) ? inputs_.tests_of(card) : std::vector<Table>{},
      .checkpoints = folder_.checkpoints_of(card.id),
      .resume = options_.resume.has_value(),
      .listener = recorder_,
      .stop = limit.stop(),
      .work_returned = [&limit] { limit.call_off_watchdog(); }};
  recorder_.begin_notes();
  PortValues values = card.kind->run(context);
  limit.call_off_watchdog();
  has_trained_ = has_trained_ || trains(card);
  if (!trains(card)) refuse_late(card, limit);
  const bool passes_by_cache = !options_.use_cache && has_cubes(values);
  if (!is_partial(*card.kind, values) && !passes_by_cache)
    cache_.keep(identity, *card.kind, values, recorder_.notes());
  return values;
}

// A training that ran out of time keeps its best model; what another card made too late is not used.
void CardRunner::refuse_late(const Card& card, const TimeLimit& limit) const {
  if (stop_.reason() == StopReason::time_limit) fail("the run has used up its time");
  if (limit.stop().reason() == StopReason::time_limit)
    fail("took longer than its time_limit of {} s", card.time_limit);
}

}  // namespace stoker

#include "pipeline/run/outputs_on_demand.h"

#include "data/cubes/cubes.h"
#include "data/windows/windows.h"
#include "pipeline/cache/cache.h"
#include "pipeline/cache/known_sources.h"

namespace stoker {
namespace {

class SaysNotes : public TrainingListener {
 public:
  explicit SaysNotes(const Notes& notes) : notes_(notes) {}
  void epoch_finished(const EpochReport&) override {}
  void advanced(std::int64_t, std::int64_t, double) override {}
  void note(Severity severity, const std::string& message) override {
    heard_.emplace_back(severity, message);
    notes_(severity, message);
  }
  const CardNotes& heard() const { return heard_; }

 private:
  const Notes& notes_;
  CardNotes heard_;
};

std::uint64_t bytes_of(const PortValues& values) {
  constexpr std::uint64_t of_anything_else = 1024;
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : values) {
    bytes += of_anything_else;
    if (const Table* table = std::get_if<Table>(&value))
      bytes += table->bytes() + (has_windows(*table) ? table->windows->series.bytes() : 0) +
               (table->cubes ? table->cubes->bytes() : 0);
    if (const auto* arrays = std::get_if<std::shared_ptr<const NamedArrays>>(&value))
      for (const NamedArray& each : **arrays) bytes += each.array.bytes();
  }
  return bytes;
}

}  // namespace

const Outside& OutputsOnDemand::outside_of(const Document& document, const Card& card) {
  static const Outside nothing;
  if (card.kind->look_outside == nullptr) return nothing;
  const std::string key = card.type + "\n" + config::to_yaml(card.config);
  const auto found = outsides_.find(key);
  if (found != outsides_.end()) return found->second;
  Outside outside = looked_outside(document, card);
  for (const std::string& warning : outside.warnings) notes_(Severity::warning, warning);
  return outsides_.emplace(key, std::move(outside)).first->second;
}

// As a run does it: rows that are known but no longer kept are fetched after all.
Outside OutputsOnDemand::looked_outside(const Document& document, const Card& card) const {
  const KnownSources sources(cache_);
  Outside outside = card.kind->look_outside(card.config, document.folder, stop_,
                                            [&](const std::string& key) { return sources.find(key); });
  if (!outside.is_known) return outside;
  const std::string identity = identity_of_card(card, {}, outside.fingerprint);
  if (Cache(cache_).state_of(identity, *card.kind) != Cache::State::whole)
    return card.kind->look_outside(card.config, document.folder, stop_,
                                   [](const std::string&) { return std::optional<KnownRows>(); });
  notes_(Severity::info, text_of_known_rows(outside.rows));
  return outside;
}

std::optional<PortValues> OutputsOnDemand::known_values(const Card& card, const Outside& outside,
                                                        const std::string& identity) const {
  if (!outside.is_known) return std::nullopt;
  std::optional<KeptOutputs> kept = Cache(cache_).load(identity, *card.kind);
  if (!kept) return std::nullopt;
  for (const auto& [severity, message] : kept->notes) notes_(severity, message);
  return std::move(kept->values);
}

std::string OutputsOnDemand::identity_of(const Document& document, const Card& card, Identities& known) {
  const auto found = known.find(card.id);
  if (found != known.end()) return found->second;
  std::vector<std::string> sources;
  for (const Connection& connection : card.inputs)
    sources.push_back(identity_of(document, card_named(document, connection.card), known));
  return known[card.id] = identity_of_card(card, sources, outside_of(document, card).fingerprint);
}

std::string OutputsOnDemand::identity_at(const Document& document, const Connection& connection) {
  Identities known;
  return identity_of_output(identity_of(document, card_named(document, connection.card), known), connection);
}

// Its inputs are not asked for again once it has run, so that they can be forgotten.
std::shared_ptr<const PortValues> OutputsOnDemand::outputs_of(const Document& document, const Card& card,
                                                              Identities& known) {
  const std::string identity = identity_of(document, card, known);
  if (auto kept = kept_.find(identity)) return kept;
  InputValues inputs;
  for (const Connection& connection : card.inputs)
    inputs[connection.input].push_back(
        outputs_of(document, card_named(document, connection.card), known)->at(connection.output));
  SaysNotes listener(notes_);
  const CardContext context{.config = card.config,
                            .inputs = inputs,
                            .outside = outside_of(document, card),
                            .document_folder = document.folder,
                            .tables_to_evaluate = {},
                            .checkpoints = {},
                            .resume = false,
                            .listener = listener,
                            .stop = stop_};
  const Outside& outside = context.outside;
  std::optional<PortValues> known_before = known_values(card, outside, identity);
  PortValues values = known_before ? std::move(*known_before) : card.kind->run(context);
  if (!outside.rows.key.empty() && !outside.is_known) {
    Cache(cache_).keep(identity, *card.kind, values, listener.heard());
    KnownSources(cache_).keep(outside.rows, identity);
  }
  const std::uint64_t bytes = bytes_of(values);
  return kept_.add(identity, std::move(values), bytes);
}

PortValue OutputsOnDemand::value_at(const Document& document, const Connection& connection) {
  Identities known;
  return outputs_of(document, card_named(document, connection.card), known)->at(connection.output);
}

}  // namespace stoker

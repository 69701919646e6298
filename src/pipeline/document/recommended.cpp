#include "pipeline/document/recommended.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/text/text.h"
#include "config/described.h"

namespace stoker {
namespace {

using config::Value;

constexpr std::array<std::string_view, 22> chosen_settings{"hidden_layers",
                                                           "activation",
                                                           "dropout",
                                                           "number_embedding",
                                                           "moments",
                                                           "hidden_size",
                                                           "layers",
                                                           "feed_forward",
                                                           "batch_size",
                                                           "epochs",
                                                           "optimizer",
                                                           "learning_rate",
                                                           "weight_decay",
                                                           "schedule",
                                                           "warmup_epochs",
                                                           "validation_ratio",
                                                           "early_stopping_patience",
                                                           "scaling",
                                                           "ensemble",
                                                           "ensemble.folds",
                                                           "ensemble.repeats",
                                                           "ensemble.variants"};

// Below, everything a network can learn is learnt by a small one.
constexpr std::int64_t few_rows = 600;
// Classes of fewer rows are told apart better where half the members take numbers as they are.
constexpr std::int64_t rows_for_embedded_classes = 2'000;
// More numbers make the first layer the whole network.
constexpr std::int64_t most_embedded_numbers = 200;
// Of a series: from here on networks over windows have their full size.
constexpr std::int64_t many_windows = 50'000;
constexpr std::int64_t folds = 8;
// Floating-point operations that a core does in some 30 and 200 seconds.
constexpr double work_for_two_repeats = 2.5e12;
constexpr double work_for_an_ensemble = 1.5e13;

std::string setting_text(const Value& settings, const char* name) {
  const Value* value = settings.find(name);
  const auto* text = value == nullptr ? nullptr : value->get_if<std::string>();
  return text == nullptr ? "" : *text;
}

std::int64_t integer_in(const Value* value) {
  const auto* number = value == nullptr ? nullptr : value->get_if<std::int64_t>();
  return number == nullptr ? 0 : *number;
}

class Recommendation {
 public:
  Recommendation(const Family& family, const TableShape& shape, NetworkSettings given)
      : fields_(family.describe()),
        changes_(family.restructuring != nullptr),
        shape_(shape),
        settings_(std::move(given)) {}

  NetworkSettings settings() {
    choose_network();
    choose_training();
    if (is_ensemble()) {
      stop_early();
      choose_kinds_of_members();
    } else {
      const bool holds_out =
          !names_validation_rows() && set(settings_.model, "validation_ratio", 1.0 / folds);
      if (holds_out) explain(fmt::format("1/{} of the training rows is held out for validation", folds));
      const bool is_watched = holds_out || validates();
      if (is_watched && !is_staged()) stop_early();
      if (embeds()) set(settings_.train, "scaling", "quantile");
    }
    return std::move(settings_);
  }

 private:
  bool is_small() const { return shape_.rows < few_rows; }

  void explain(std::string reason) { settings_.reasons.push_back(std::move(reason)); }

  // A setting that the family does not have cannot be recommended.
  bool has_field(const char* name) const {
    return std::any_of(fields_.fields.begin(), fields_.fields.end(),
                       [&](const config::Field& each) { return each.name == name; });
  }

  static bool set(Value& settings, const char* name, Value value) {
    if (settings.find(name) != nullptr) return false;
    settings.set(name, std::move(value));
    return true;
  }

  void choose_network() {
    if (has_field("hidden_layers")) {
      const std::int64_t width = is_small() ? 64 : 256;
      if (set(settings_.model, "hidden_layers", Value::List{Value(width), Value(width)}) && is_small())
        explain(fmt::format("layers are small below {} training rows", few_rows));
    }
    // Few rows of classes lie on either side of something smooth.
    if (has_field("activation") && is_small() && shape_.has_classes)
      set(settings_.model, "activation", "tanh");
    if (has_field("dropout")) set(settings_.model, "dropout", is_small() ? 0.2 : 0.15);
    if (shape_.moments > 0) choose_sequence();
    if (has_field("number_embedding") && can_embed()) set(settings_.model, "number_embedding", "periodic");
  }

  // The sizes that cards have by default are for hundreds of thousands of windows; real series mostly have
  // some thousands of rows, of which larger networks learn nothing more and take minutes.
  void choose_sequence() {
    if (has_field("moments")) set(settings_.model, "moments", shape_.moments);
    if (shape_.rows >= many_windows) return;
    if (has_field("hidden_size") && set(settings_.model, "hidden_size", is_small() ? 32 : 64)) {
      set(settings_.model, "layers", std::int64_t{has_field("kernel_size") ? 3 : 1});
      explain(fmt::format("the network is small below {} windows", human_count(many_windows)));
    }
    if (has_field("feed_forward")) set(settings_.model, "feed_forward", std::int64_t{128});
  }

  // The fused engine for GPUs does not embed; who asks for it wants its speed.
  bool can_embed() const {
    const bool is_fused = setting_text(settings_.train, "engine") == "fused";
    const bool is_cpu = setting_text(settings_.train, "device") == "cpu";
    return (!is_fused || is_cpu) && !is_small() && shape_.numbers > 0 &&
           shape_.numbers <= most_embedded_numbers;
  }

  bool embeds() const {
    const std::string embedding = setting_text(settings_.model, "number_embedding");
    return !embedding.empty() && embedding != "none";
  }

  void choose_training() {
    Value& model = settings_.model;
    const auto rows = static_cast<double>(std::max<std::int64_t>(shape_.rows, 1));
    const bool has_batch = set(model, "batch_size",
                               static_cast<std::int64_t>(std::bit_floor(
                                   static_cast<std::uint64_t>(std::clamp(rows / 24, 32.0, 256.0)))));
    const bool has_epochs =
        set(model, "epochs",
            static_cast<std::int64_t>(std::lround(std::clamp(9000 / std::sqrt(rows), 10.0, 200.0))));
    if (has_batch && has_epochs)
      explain("more rows take larger batches and fewer epochs");
    else if (has_batch || has_epochs)
      explain(has_batch ? "more rows take larger batches" : "more rows take fewer epochs");
    if (set(model, "optimizer", "adamw")) {
      set(model, "learning_rate", shape_.has_classes ? 0.001 : 0.002);
      set(model, "weight_decay", 0.01);
    }
    if (set(model, "schedule", "cosine")) set(model, "warmup_epochs", epochs() / 20);
  }

  void stop_early() {
    set(settings_.model, "early_stopping_patience", std::max<std::int64_t>(epochs() / 3, 10));
  }

  bool names_validation_rows() const {
    const Value* named = settings_.model.find("validation_ids");
    const auto* rows = named == nullptr ? nullptr : named->get_if<Value::List>();
    return rows != nullptr && !rows->empty();
  }

  bool validates() const {
    if (names_validation_rows()) return true;
    const Value* given = settings_.model.find("validation_ratio");
    const auto* share = given == nullptr ? nullptr : given->get_if<double>();
    return share != nullptr && *share > 0;
  }

  std::int64_t epochs() const { return integer_in(settings_.model.find("epochs")); }

  // Of a single network, in floating-point operations.
  double work() const {
    constexpr double of_embedded_number = 12;
    const double inputs = static_cast<double>(shape_.numbers) * (embeds() ? of_embedded_number : 1) +
                          static_cast<double>(shape_.others);
    double before = inputs;
    double weights = 0;
    const Value* layers = settings_.model.find("hidden_layers");
    const auto* widths = layers == nullptr ? nullptr : layers->get_if<Value::List>();
    if (widths != nullptr)
      for (const Value& layer : *widths) {
        const auto width = static_cast<double>(integer_in(&layer));
        weights += before * width;
        before = width;
      }
    return 6 * weights * static_cast<double>(shape_.rows) * static_cast<double>(epochs());
  }

  // Every stage is one network, trained to its end.
  bool is_staged() const { return settings_.train.find("stages") != nullptr; }

  bool is_ensemble() {
    if (Value* given = settings_.train.find("ensemble"))
      return set(*given, "folds", folds) || integer_in(given->find("folds")) > 0;
    // Experts are many models already.
    if (is_staged()) return false;
    if (settings_.model.find("validation_ratio") != nullptr || names_validation_rows()) return false;
    if (!has_field("hidden_layers") || changes_) return false;
    if (work() * folds > work_for_an_ensemble) return false;
    const std::int64_t repeats = work() * folds * 2 <= work_for_two_repeats ? 2 : 1;
    Value ensemble;
    ensemble.set("folds", folds);
    ensemble.set("repeats", repeats);
    settings_.train.set("ensemble", std::move(ensemble));
    explain(fmt::format("an ensemble of {} networks is more accurate, and this table is small enough for it",
                        folds * repeats));
    return true;
  }

  void choose_kinds_of_members() {
    if (settings_.train.find("scaling") != nullptr || !embeds()) return;
    Value near;
    Value ranked;
    ranked.set("scaling", "quantile");
    if (shape_.has_classes && shape_.rows < rows_for_embedded_classes) {
      near.set("scaling", "standard");
      near.set("number_embedding", "none");
    } else {
      near.set("scaling", "robust");
    }
    Value kinds;
    kinds.set("near", std::move(near));
    kinds.set("ranked", std::move(ranked));
    Value* ensemble = settings_.train.find("ensemble");
    set(*ensemble, "variants", std::move(kinds));
  }

  config::Described fields_;
  bool changes_;  // its structure, while it trains
  const TableShape& shape_;
  NetworkSettings settings_;
};

}  // namespace

NetworkSettings recommended_settings(const Family& family, const TableShape& shape, NetworkSettings given) {
  return Recommendation(family, shape, std::move(given)).settings();
}

std::span<const std::string_view> settings_chosen_by_data() {
  return chosen_settings;
}

}  // namespace stoker

#include "model/experts/expert_lives.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "model/experts/expert_graph.h"
#include "model/experts/expert_likeness.h"
#include "model/experts/expert_memory.h"
#include "model/experts/expert_profiles.h"
#include "model/experts/expert_shape.h"
#include "model/experts/expert_stages.h"
#include "model/experts/experts_on_host.h"
#include "model/family.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr double falls_by_itself = 0.02;  // of the hesitation, from one look to the next
constexpr std::size_t most_moments = 100;
constexpr double least_similar = 0.5;  // that is worth an edge
constexpr double least_following = 0.1;

std::string step_text(std::int64_t step) {
  return human_count(static_cast<std::uint64_t>(step));
}

// One edit of a state, with all that it knows.
class ExpertEdit {
 public:
  ExpertEdit(const StructureMoment& moment, const ExpertShape& shape, ExpertState& state, json& memory)
      : moment_(moment),
        shape_(shape),
        life_(shape_.settings.life),
        state_(state),
        memory_(memory),
        graph_(graph_from_json(memory.at("graph"))),
        step_(moment.step + memory.value("stage_began", std::int64_t{0})) {
    const auto alive = state_.values(alive_name);
    for (std::size_t place = 0; place < alive.size(); ++place)
      if (alive[place] != 0 && graph_.at_place(static_cast<std::int64_t>(place)) == nullptr)
        refuse("an expert lives that the graph does not know");
    if (std::ssize(alive) - std::ranges::count(alive, 0.0F) != awake())
      refuse("the graph knows experts that do not live");
  }

  // What the graph is at the end of an epoch, with what training has counted since the last sleep.
  void observe() {
    KnowledgeGraph seen = graph_;
    if (memory_.at("last_sleep").get<std::int64_t>() < step_) add_usage_to(seen);
    remember_epoch({{"step", step_}, {"hesitation", memory_.at("hesitation")}, {"graph", to_json(seen)}},
                   memory_);
  }

  std::vector<StructureEvent> run() {
    if (is_due("next_look")) look();
    if (is_due("next_sleep"))
      sleep();
    else
      memory_["graph"] = to_json(graph_);
    remember_events(events_, memory_);
    return events_;
  }

 private:
  std::int64_t awake() const {
    return std::ranges::count_if(graph_.nodes, [](const ExpertNode& each) { return !each.rests; });
  }

  bool is_due(const char* name) const {
    const auto step = memory_.at(name).get<std::int64_t>();
    return step >= 0 && step <= step_;
  }

  void tell(const char* kind, std::string text) { events_.push_back({step_, kind, std::move(text)}); }

  // Of the rows that are remembered, before anything was changed.
  const ExpertRoutes& routes() {
    if (!routes_) routes_ = state_.route(moment_.remembered);
    return *routes_;
  }

  // ---- growth

  void look() {
    memory_["next_look"] = step_ + life_.growth_interval;
    const auto seen = state_.values(hesitation_name);
    if (!(seen[1] > 0)) return;
    const double now = static_cast<double>(seen[0]) / static_cast<double>(seen[1]);
    const json before = memory_.at("hesitation");
    memory_["hesitation"] = now;
    state_.clear_hesitation();
    if (!std::isfinite(now) || before.is_null()) return;
    const auto patience = memory_.at("patience").get<std::int64_t>();
    if (patience > 0) memory_["patience"] = patience - 1;
    if (now <= life_.expert_creation_uncertainty || patience > 0) return;
    if (now < before.get<double>() * (1 - falls_by_itself)) return;
    const std::int64_t place = graph_.free_place(shape_.room());
    if (place < 0) return;
    bear(place, now, before.get<double>());
    // One that does not help is followed by the next one later and later.
    const auto pause = memory_.at("birth_patience").get<std::int64_t>();
    memory_["patience"] = pause;
    memory_["birth_patience"] = std::min<std::int64_t>(2 * pause, 64);
  }

  void bear(std::int64_t place, double hesitation, double before) {
    const std::int64_t parent = liked_by_the_hesitant(routes(), shape_);
    const auto number = memory_.at("next_number").get<std::int64_t>();
    memory_["next_number"] = number + 1;
    state_.bear(parent, place,
                random_key(moment_.seed, Purpose::structure, static_cast<std::uint64_t>(number)));
    const std::int64_t of_parent = graph_.at_place(parent)->number;
    ExpertNode node;
    node.number = number;
    node.place = place;
    node.born_step = step_;
    node.parent = of_parent;
    node.last_active_step = step_;
    node.adaptation_rate = 1;
    node.stage = graph_.at_place(parent)->stage;
    graph_.nodes.push_back(std::move(node));
    graph_.edges.push_back({number, of_parent, ExpertTie::specialises, 1});
    tell("born",
         fmt::format(
             "expert {} was born as a copy of expert {}, the favourite of the rows that the router is least "
             "sure "
             "about: its uncertainty is {:.2f}, above {:.2f}, and has not fallen by itself ({:.2f} before)",
             number, of_parent, hesitation, life_.expert_creation_uncertainty, before));
  }

  // ---- sleep

  void sleep() {
    const auto last = memory_.at("last_sleep").get<std::int64_t>();
    remember_usage(step_ - last);
    describe();
    const bool has_merged = merge_alike();
    const bool has_removed = remove_idle();
    reorganise();
    plan_next(has_merged || has_removed);
    memory_["last_sleep"] = step_;
    memory_["sleeps"] = memory_.at("sleeps").get<std::int64_t>() + 1;
    keep_moment();
  }

  // What training counted since the last sleep.
  void remember_usage(std::int64_t steps) {
    const auto activations = state_.values(activations_name);
    const auto idle = state_.values(idle_steps_name);
    const auto counted = state_.values(followers_name);
    followers_.assign(counted.begin(), counted.end());
    for (ExpertNode& node : graph_.nodes) {
      if (node.rests) continue;
      const auto place = static_cast<std::size_t>(node.place);
      node.activations += static_cast<double>(activations[place]);
      node.last_active_step = std::max(node.born_step, step_ - static_cast<std::int64_t>(idle[place]));
      node.seen_steps.push_back(steps);
      node.seen_rows.push_back(static_cast<double>(activations[place]));
      // The fewest of the last sleeps that saw as many steps.
      std::int64_t seen = std::accumulate(node.seen_steps.begin(), node.seen_steps.end(), std::int64_t{0});
      while (node.seen_steps.size() > 1 && seen - node.seen_steps.front() >= life_.prune_idle_steps) {
        seen -= node.seen_steps.front();
        node.seen_steps.erase(node.seen_steps.begin());
        node.seen_rows.erase(node.seen_rows.begin());
      }
    }
    state_.clear_usage();
  }

  void describe() {
    const std::vector<ExpertProfile> profiles = expert_profiles(routes(), shape_, moment_.remembered);
    std::vector<std::int64_t> places;
    for (const ExpertNode& node : graph_.nodes)
      if (!node.rests) places.push_back(node.place);
    const std::vector<double> rates = state_.adaptation_of(places);
    auto rate = rates.begin();
    for (ExpertNode& node : graph_.nodes) {
      if (node.rests) continue;
      const ExpertProfile& profile = profiles[static_cast<std::size_t>(node.place)];
      node.specialisation = profile.specialisation;
      node.classes = profile.classes;
      node.adaptation_rate = *rate++;
    }
  }

  bool is_newborn(const ExpertNode& node) const { return step_ - node.born_step < life_.newborn_steps; }

  struct AlikePair {
    std::int64_t one = 0;  // numbers
    std::int64_t other = 0;
    double similarity = 0;
    std::size_t aligned = 0;  // number of the pair, of those that were aligned
  };

  // Pairs whose rows are alike enough that their weights could make them similar; edges to merge by.
  std::vector<AlikePair> alike_pairs() {
    const std::vector<ExpertPair> all = pairs_awake();
    const std::vector<double> by_rows = state_.cosines_of_rows(routes(), moment_.remembered, all);
    std::vector<ExpertPair> wanted;
    std::vector<double> rows;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (share_of_rows * by_rows[i] + share_of_weights < life_.merge_similarity) continue;
      wanted.push_back(all[i]);
      rows.push_back(by_rows[i]);
    }
    const std::vector<double> by_weights = state_.align(wanted);
    std::vector<AlikePair> pairs;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double similarity = share_of_weights * by_weights[i] + share_of_rows * rows[i];
      if (similarity > least_similar)
        pairs.push_back({graph_.at_place(wanted[i].one)->number, graph_.at_place(wanted[i].other)->number,
                         similarity, i});
    }
    std::ranges::stable_sort(pairs, std::greater(), &AlikePair::similarity);
    return pairs;
  }

  std::vector<ExpertPair> pairs_awake() const {
    std::vector<ExpertPair> pairs;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (std::size_t j = i + 1; j < graph_.nodes.size(); ++j)
        if (!graph_.nodes[i].rests && !graph_.nodes[j].rests)
          pairs.push_back({graph_.nodes[i].place, graph_.nodes[j].place});
    return pairs;
  }

  bool merge_alike() {
    const std::vector<AlikePair> pairs = alike_pairs();
    similar_.clear();
    for (const AlikePair& each : pairs)
      similar_.push_back({each.one, each.other, ExpertTie::similar, each.similarity});
    if (!life_.merging) return false;
    bool has_merged = false;
    for (const AlikePair& pair : pairs) {
      ExpertNode* one = graph_.find(pair.one);
      ExpertNode* other = graph_.find(pair.other);
      if (pair.similarity <= life_.merge_similarity || !can_lose_one()) break;
      if (one == nullptr || other == nullptr || is_newborn(*one) || is_newborn(*other)) continue;
      // The weights that were aligned are those of the pair before anybody was merged with one of them.
      if (is_touched(pair.one) || is_touched(pair.other)) continue;
      merge(pair, *one, *other);
      has_merged = true;
    }
    return has_merged;
  }

  bool can_lose_one() const { return awake() > std::max<std::int64_t>(shape_.settings.top_k, 1); }
  bool is_touched(std::int64_t number) const { return std::ranges::find(touched_, number) != touched_.end(); }

  void merge(const AlikePair& pair, ExpertNode& kept, const ExpertNode& gone) {
    const double rows = kept.activations + gone.activations;
    const double share = rows > 0 ? kept.activations / rows : 0.5;
    state_.merge(pair.aligned, share);
    kept.activations = rows;
    kept.last_active_step = std::max(kept.last_active_step, gone.last_active_step);
    for (std::size_t i = 0; i < std::min(kept.seen_rows.size(), gone.seen_rows.size()); ++i)
      kept.seen_rows[kept.seen_rows.size() - 1 - i] += gone.seen_rows[gone.seen_rows.size() - 1 - i];
    tell("merged", fmt::format("expert {} was merged into expert {}: they are alike by {:.2f}, above {:.2f}",
                               pair.other, pair.one, pair.similarity, life_.merge_similarity));
    touched_.push_back(pair.one);
    leave(pair.other);
  }

  void leave(std::int64_t number) {
    graph_.remove(number);
    std::erase_if(similar_, [&](const ExpertEdge& each) { return each.from == number || each.to == number; });
  }

  bool remove_idle() {
    if (!life_.pruning) return false;
    bool has_removed = false;
    const std::vector<ExpertNode> nodes = graph_.nodes;
    for (const ExpertNode& node : nodes) {
      if (!can_lose_one()) break;
      if (node.rests || is_newborn(node)) continue;
      const std::string reason = reason_to_remove(node);
      if (reason.empty()) continue;
      const ExpertNode* neighbour = neighbour_of(node);
      const double rows = recent_rows(node);
      const double of_neighbour = neighbour == nullptr ? 0 : recent_rows(*neighbour);
      const double share = rows + of_neighbour > 0 ? rows / (rows + of_neighbour) : 0;
      state_.remove(node.place, neighbour == nullptr ? -1 : neighbour->place, share);
      tell("removed",
           fmt::format("expert {} was removed: {}{}", node.number, reason,
                       neighbour == nullptr
                           ? ""
                           : fmt::format("; its rows go to its neighbour, expert {}", neighbour->number)));
      leave(node.number);
      has_removed = true;
    }
    return has_removed;
  }

  static double recent_rows(const ExpertNode& node) {
    return std::accumulate(node.seen_rows.begin(), node.seen_rows.end(), 0.0);
  }

  std::string reason_to_remove(const ExpertNode& node) const {
    const std::int64_t idle = step_ - node.last_active_step;
    if (idle > life_.prune_idle_steps) return fmt::format("no row came to it for {} steps", step_text(idle));
    const std::int64_t steps =
        std::accumulate(node.seen_steps.begin(), node.seen_steps.end(), std::int64_t{0});
    const double rows = recent_rows(node);
    if (steps >= life_.prune_idle_steps && rows < static_cast<double>(life_.prune_activations))
      return fmt::format("it answered for {} rows in {} steps", static_cast<std::int64_t>(rows),
                         step_text(steps));
    return "";
  }

  // The one that it is tied to most, by the graph as it is.
  const ExpertNode* neighbour_of(const ExpertNode& node) const {
    const ExpertEdge* best = nullptr;
    const auto consider = [&](const std::vector<ExpertEdge>& edges) {
      for (const ExpertEdge& each : edges)
        if ((each.from == node.number || each.to == node.number) &&
            (best == nullptr || each.weight > best->weight))
          best = &each;
    };
    consider(graph_.edges);
    consider(similar_);
    if (best == nullptr) return nullptr;
    const std::int64_t number = best->from == node.number ? best->to : best->from;
    const auto found = std::ranges::find(graph_.nodes, number, &ExpertNode::number);
    return found == graph_.nodes.end() || found->rests ? nullptr : &*found;
  }

  void add_usage_to(KnowledgeGraph& seen) {
    const auto activations = state_.values(activations_name);
    const std::vector<float> rows(activations.begin(), activations.end());
    const auto counted = state_.values(followers_name);
    followers_.assign(counted.begin(), counted.end());
    for (ExpertNode& node : seen.nodes) {
      if (node.rests) continue;
      const auto since_sleep = static_cast<double>(rows[static_cast<std::size_t>(node.place)]);
      node.activations += since_sleep;
      node.seen_steps = {step_};
      node.seen_rows = {since_sleep};
    }
    std::erase_if(seen.edges, [](const ExpertEdge& each) { return each.tie == ExpertTie::follows; });
    add_followers(seen);
  }

  // Of each expert, who is liked second for the same rows.
  void add_followers(KnowledgeGraph& graph) const {
    const std::int64_t room = shape_.room();
    for (const ExpertNode& from : graph.nodes) {
      double all = 0;
      for (const ExpertNode& to : graph.nodes) all += followings(from, to, room);
      for (const ExpertNode& to : graph.nodes) {
        const double share = all > 0 ? followings(from, to, room) / all : 0;
        if (share >= least_following && from.number != to.number)
          graph.edges.push_back({from.number, to.number, ExpertTie::follows, share});
      }
    }
  }

  // Edges as they follow from what was seen.
  void reorganise() {
    graph_.edges = similar_;
    add_followers(graph_);
    for (const ExpertNode& node : graph_.nodes)
      if (graph_.find(node.parent) != nullptr)
        graph_.edges.push_back({node.number, node.parent, ExpertTie::specialises, node.specialisation});
  }

  double followings(const ExpertNode& from, const ExpertNode& to, std::int64_t room) const {
    return static_cast<double>(followers_[static_cast<std::size_t>(from.place * room + to.place)]);
  }

  // Sooner where there was something to do, later where there was not.
  void plan_next(bool is_changed) {
    auto interval = memory_.at("sleep_interval").get<std::int64_t>();
    interval = is_changed ? interval / 2 : interval + interval / 2;
    interval = std::clamp(interval, life_.sleep_shortest, life_.sleep_longest);
    memory_["sleep_interval"] = interval;
    memory_["next_sleep"] = step_ + interval;
    std::size_t changes = 0;
    for (const StructureEvent& each : events_)
      changes += each.kind == "merged" || each.kind == "removed" ? 1 : 0;
    tell("slept", fmt::format("slept at step {}: {} experts live, {} changed; the next sleep is in {} steps",
                              step_text(step_), graph_.nodes.size(), changes, step_text(interval)));
  }

  void keep_moment() {
    memory_["graph"] = to_json(graph_);
    json moment{{"step", step_}, {"hesitation", memory_.at("hesitation")}};
    moment["graph"] = memory_.at("graph");
    json& moments = memory_["moments"];
    moments.push_back(std::move(moment));
    if (moments.size() <= most_moments) return;
    json every_other = json::array();
    for (std::size_t i = 0; i < moments.size(); i += 2) every_other.push_back(std::move(moments[i]));
    moments = std::move(every_other);
  }

  const StructureMoment& moment_;
  const ExpertShape& shape_;
  const ExpertLife& life_;
  ExpertState& state_;
  json& memory_;
  KnowledgeGraph graph_;
  std::int64_t step_;  // from the first stage on
  std::optional<ExpertRoutes> routes_;
  std::vector<float> followers_;
  std::vector<ExpertEdge> similar_;
  std::vector<std::int64_t> touched_;
  std::vector<StructureEvent> events_;
};

std::vector<StructureEvent> edit_lives(const StructureMoment& moment, NamedArrays& state, json& memory) {
  const ExpertShape shape = expert_shape(moment.network).value();
  ExpertsOnHost experts(shape, state);
  return ExpertEdit(moment, shape, experts, memory).run();
}

std::vector<StructureEvent> edit_lives_in_place(const StructureMoment& moment, StructureHandle& state,
                                                json& memory) {
  auto* experts = dynamic_cast<ExpertState*>(&state);
  if (experts == nullptr) fail("the engine does not hold the state of experts");
  const ExpertShape shape = expert_shape(moment.network).value();
  return ExpertEdit(moment, shape, *experts, memory).run();
}

void observe_lives(const StructureMoment& moment, const NamedArrays& parameters, json& memory) {
  const ExpertShape shape = expert_shape(moment.network).value();
  NamedArrays own = parameters;
  ExpertsOnHost experts(shape, own);
  ExpertEdit(moment, shape, experts, memory).observe();
}

void observe_lives_in_place(const StructureMoment& moment, StructureHandle& state, json& memory) {
  auto* experts = dynamic_cast<ExpertState*>(&state);
  if (experts == nullptr) fail("the engine does not hold the state of experts");
  const ExpertShape shape = expert_shape(moment.network).value();
  ExpertEdit(moment, shape, *experts, memory).observe();
}

}  // namespace

const Restructuring& lives_of_experts() {
  static const Restructuring lives{.room_problem = room_problem_of_experts,
                                   .begin = begin_lives,
                                   .check = check_lives,
                                   .next_step = next_step_of_lives,
                                   .remembered_rows = rows_to_remember,
                                   .begin_stage = begin_stage_of_experts,
                                   .end_stage = end_stage_of_experts,
                                   .frozen_in_stage = frozen_in_stage_of_experts,
                                   .edit = edit_lives,
                                   .edit_in_place = edit_lives_in_place,
                                   .observe = observe_lives,
                                   .observe_in_place = observe_lives_in_place,
                                   .epochs_between_records = epochs_between_expert_records};
  return lives;
}

}  // namespace stoker

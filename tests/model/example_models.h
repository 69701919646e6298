#pragma once

#include "model/fixtures.h"
#include "model/model.h"
#include "model/network/mlp.h"

// Small models that were never trained, for what is true of any model.
namespace stoker {

inline Table houses() {
  return table_of(
      "rooms,age,price,kind,big\n"
      "1,10,105.5,flat,no\n2,30,190.25,house,no\n3,20,310,house,yes\n4,5,420,villa,yes\n5,50,480,villa,yes\n"
      "2,25,200,flat,no\n3,35,290,house,yes\n1,15,110,flat,no\n");
}

inline Preparation preparation_for(const std::string& target, Task task, Scaling scaling) {
  PreparationConfig config;
  config.target_column = target;
  config.feature_columns = {"rooms", "age"};
  config.task = static_cast<TaskChoice>(static_cast<int>(task) + 1);
  return Preparation::fit(houses(), config, scaling, no_notes());
}

inline Model linear_model() {
  Model model;
  model.preparation = preparation_for("price", Task::regression, Scaling::none);
  model.network = network_for(family_named("ridge"), config::Value(config::Value::Map{}), model.preparation);
  model.alpha = 0.5;
  model.parameters = {{"coefficients", Array::from<double>(std::vector<double>{100, -0.5}, {2})},
                      {"intercept", Array::from<double>(std::vector<double>{10}, {1})}};
  return model;
}

inline Model network_model(Task task) {
  Model model;
  const std::string target = task == Task::regression ? "price" : task == Task::binary ? "big" : "kind";
  model.preparation = preparation_for(target, task, Scaling::standard);
  model.network = mlp_network({2, {4}, task == Task::multiclass ? 3 : 1, Activation::tanh, 0.1});
  model.parameters = initial_parameters(model.network, 7);
  return model;
}

}  // namespace stoker
